"""The own examples of five published debates, with nothing changed but their imports.

Models are asked by clients that you pass, or by names of models that need a key; where replies
stand in the module, they are scripted.
"""
