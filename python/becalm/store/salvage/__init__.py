"""Salvage of a damaged SQLite store, read page by page without SQLite and without changing it.

`page_file` has the pages, with those of the write-ahead log; `records` decodes the cells of one; `shapes` knows the
tables of a store and whether a row is as it was stored; `trees` finds the rows of each table; `repair` puts them into a
new store. The format is that of https://www.sqlite.org/fileformat2.html, whose sections are cited.
"""
