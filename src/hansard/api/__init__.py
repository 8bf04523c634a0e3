"""The functions of the library, by what they are about; import them from `hansard`.

    specs     what a debate would be: its fields, its prompts, its models, its cost
    running   a debate from its opening to its end
    records   what is kept of a debate, and whether it is what was recorded
    trust     keys, trust files and signed policies

What a function needs is imported when it is first called: to import these modules
costs next to nothing.
"""
