# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an experiment: one file for a browser, without scripts."""

import html
import os

STYLE = """body { font: 16px/1.5 sans-serif; max-width: 64em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em } svg { max-width: 100%; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } th, td { padding: .2em .7em; text-align: right }
th, td { white-space: nowrap } th:first-child, td:first-child { text-align: left } tr + tr { border-top: 1px solid #ddd } .scroll { overflow-x: auto }
pre { background: #f4f4f4; padding: .8em; overflow-x: auto } .disturbed { background: #fde8d8 }"""


def cells(tag, row):
    return "".join(f"<{tag}>{html.escape('' if v is None else str(v))}</{tag}>" for v in row)


def table(head, rows, marked=()):
    """Return a table; the rows with the indexes in `marked` are marked."""
    body = "\n".join(f"<tr{' class=disturbed' if i in marked else ''}>{cells('td', r)}</tr>" for i, r in enumerate(rows))
    return f"<div class=scroll><table>\n<tr>{cells('th', head)}</tr>\n{body}\n</table></div>"


def items(sentences):
    return "<ul>\n" + "\n".join(f"<li>{html.escape(s)}</li>" for s in sentences) + "\n</ul>" if sentences else ""


def drawing(path):
    """Return an SVG file as an element of a page."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return text[text.index("<svg"):]


def section(title, *parts):
    return f"<h2>{html.escape(title)}</h2>\n" + "\n".join(parts) if any(parts) else ""


def text(words):
    return f"<p>{html.escape(words)}</p>" if words else ""


def pre(text):
    return f"<pre>{html.escape(text)}</pre>"


def links(paths, base):
    """Return links to files, relative to the directory `base`."""
    names = [html.escape(os.path.relpath(p, base)) for p in paths]
    return "<ul>" + "".join(f"<li><a href=\"{n}\">{n}</a></li>" for n in names) + "</ul>" if paths else ""


def write(path, title, *sections):
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n"
                f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n<h1>{html.escape(title)}</h1>\n"
                + "\n".join(filter(None, sections)) + "\n</html>\n")
