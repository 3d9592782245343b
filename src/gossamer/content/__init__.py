"""The parsing of pages: from the bytes of a body to links, title, text and sketch.

`kind_of` decides whether a body is HTML, text or a file of some kind, `charset` decodes it, and a
`HtmlTree` extracts links, title, text and robots directives from its tree. `parse` does all of
that in one call. `sketch` summarises the text, so that similar pages can be recognised,
`main_content_sample` what is a page's own. A `PageParser` does everything that a crawl needs; a
`LazyDocument` answers whatever else modules and outputs ask of a page, when they ask.

Nothing here raises, whatever the bytes are, and everything takes time linear in their number.
"""
