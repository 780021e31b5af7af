"""An installation in one sealed file: ``seal`` is the file, ``manifest`` what it says of its content, ``archive`` how it is written and
read. README.md says why it is so.
"""
