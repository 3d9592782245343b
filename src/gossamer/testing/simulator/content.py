"""Faults of types and charsets: content that is not what it says."""

from gossamer.testing.simulator.fault import END, Fault, always, linking, typed

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0:~\x9bU"
_ZIP = b"PK\x03\x04\x14\0\0\0\0\0" + bytes(200)
EVIL = "\x1b]0;mine\x07 \x1b]52;c;QQ==\x07 \x9b2J \x7f \u202egone"
"""What would steer a terminal."""

_TYPES = (
    Fault("html-as-text", "sends HTML as text", always(typed(linking(END), "text/plain"))),
    Fault("png-as-html", "sends a picture as HTML", always(typed(_PNG * 50))),
    Fault("zip-as-html", "sends an archive as HTML", always(typed(_ZIP))),
    Fault("type-missing", "names no type", always(typed(linking(END), ""))),
    Fault(
        "type-evil",
        "puts escape sequences into its header",
        always(typed("hi", f"text/html; {EVIL}")),
    ),
)
_CHARSETS = (
    Fault(
        "charset-lies",
        "names one charset in its header and another in its page",
        always(
            typed("<meta charset=shift_jis><p>Grüße".encode("cp1252"), "text/html; charset=utf-8")
        ),
    ),
    Fault(
        "charset-unknown",
        "names a charset that nobody knows",
        always(typed("hi", "text/html; charset=x")),
    ),
    Fault(
        "charset-utf7",
        "names a charset that hides markup",
        always(typed("+ADw-a+AD4-", "text/html; charset=utf-7")),
    ),
    Fault(
        "charset-utf16",
        "has a byte order mark",
        always(typed(linking(END).encode("utf-16"), "text/html")),
    ),
    Fault("bytes-random", "sends bytes that are no text", always(typed(bytes(range(1, 256)) * 40))),
)

CONTENT = (*_TYPES, *_CHARSETS)
