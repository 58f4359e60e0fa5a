"""What the files of the corpus are made of."""
