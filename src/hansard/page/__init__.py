"""The page: one file that shows a record and checks it again in the reader's own browser."""
