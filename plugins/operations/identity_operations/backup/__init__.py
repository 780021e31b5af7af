"""Backup of an installation in one sealed file.

The module ``seal`` has the file format, ``manifest`` the description of the content, and ``archive`` its reader and writer.
README.md contains the reasons.
"""
