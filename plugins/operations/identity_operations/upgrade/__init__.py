"""Upgrade of databases to the tables of the installed version by an operator with a backup."""
