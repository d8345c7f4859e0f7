"""Figures: pure functions from a result and its gold tables to charts. `catalogue.py` names them all."""
