"""The parsing of pages: from the bytes of a body to links, title, text and sketch.

`sniff` decides whether a body is HTML, text or a file of some kind, `charset` decodes it,
`html_tree` reads links, title, text and robots directives from its tree, and `similarity`
summarises the text, so that similar pages are recognised. `page_parser` does all of that that a
crawl needs; a `lazy_document` answers whatever else modules and outputs ask of a page, when they
ask.

Nothing here raises, whatever the bytes are, and everything takes time linear in their number.
"""
