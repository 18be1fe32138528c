"""What joins the library to lmms-eval: registration, models, records of items and runs."""
