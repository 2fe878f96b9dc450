"""The site of `becalm publish`: pages of plain HTML, one style sheet and one script, for a directory or a web host.

Names, tags and sentences come from elsewhere: jinja2 escapes them, and a Content-Security-Policy permits pages to run
and load only the two files of the site.
"""
