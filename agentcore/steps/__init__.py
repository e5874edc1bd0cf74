"""Steps: what each row of the tables does. A step decides among the targets its row declares, and performs nothing."""
