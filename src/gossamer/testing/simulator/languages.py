"""The languages of the simulated web, each in a charset that is common for it."""

import msgspec


class Language(msgspec.Struct, frozen=True):
    """A language, some of its words, and how its pages are written."""

    code: str
    charset: str
    words: tuple[str, ...]
    in_header: bool = True
    """Whether the charset is in the HTTP header; else it is in the page."""


_ENGLISH = "the of and web river stone house light water morning road paper small green old made"
_GERMAN = "der die und Straße Fluss schön Haus Licht Wasser Morgen über Papier klein grün alt für"
_FRENCH = "le la et rivière pierre maison lumière eau matin été papier petit vert déjà fait où"
_RUSSIAN = "и в не река камень дом свет вода утро дорога бумага малый старый сделал мост лес"
_JAPANESE = "川 石 家 光 水 朝 道 紙 小さい 緑 古い 作る 橋 森 空 山"
_CHINESE = "河 石头 房子 光 水 早晨 路 纸 小 绿 老 做 桥 森林 天空 山"

LANGUAGES = (
    Language("en", "utf-8", tuple(_ENGLISH.split())),
    Language("en", "us-ascii", tuple(_ENGLISH.split()), in_header=False),
    Language("de", "iso-8859-1", tuple(_GERMAN.split())),
    Language("fr", "windows-1252", tuple(_FRENCH.split()), in_header=False),
    Language("ru", "windows-1251", tuple(_RUSSIAN.split())),
    Language("ja", "shift_jis", tuple(_JAPANESE.split()), in_header=False),
    Language("zh", "gb18030", tuple(_CHINESE.split())),
)
