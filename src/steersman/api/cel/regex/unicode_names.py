# SPDX-License-Identifier: Apache-2.0
"""Names of Unicode categories and scripts in `\\p`, translated from Go to RE2.

Go ignores case, spaces, underscores and hyphens in names, and knows classes that RE2 does not:
these are written as members or as complements. Unicode 15, as upstream.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_CATEGORIES: Final = (
    "Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
)
_SCRIPTS: Final = (
    "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo "
    "Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common "
    "Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs "
    "Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul "
    "Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi "
    "Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki "
    "Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean "
    "Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi "
    "Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong "
    "Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian "
    "Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi "
    "Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese "
    "Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan "
    "Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square"
)
_ALIASES: Final = (
    "Close_Punctuation=Pe Combining_Mark=M Connector_Punctuation=Pc Control=Cc Currency_Symbol=Sc Dash_Punctuation=Pd "
    "Decimal_Number=Nd Enclosing_Mark=Me Final_Punctuation=Pf Format=Cf Initial_Punctuation=Pi Letter=L Letter_Number=Nl "
    "Line_Separator=Zl Lowercase_Letter=Ll Mark=M Math_Symbol=Sm Modifier_Letter=Lm Modifier_Symbol=Sk "
    "Nonspacing_Mark=Mn Number=N Open_Punctuation=Ps Other_Letter=Lo Other_Number=No Other_Punctuation=Po "
    "Other_Symbol=So Paragraph_Separator=Zp Private_Use=Co Punctuation=P Separator=Z Space_Separator=Zs Spacing_Mark=Mc "
    "Surrogate=Cs Symbol=S Titlecase_Letter=Lt Uppercase_Letter=Lu cntrl=Cc digit=Nd punct=P"
)
_VISIBLE: Final = r"\pL\pM\pN\pP\pS\pZ"
_ASSIGNED: Final = _VISIBLE + r"\p{Cc}\p{Cf}\p{Co}\p{Cs}"


class UnicodeClass(NamedTuple):
    """Class as bracket contents in RE2's syntax."""

    members: str
    #: Whether the class is the complement of `members`.
    is_complement: bool = False


def _normalized(name: str) -> str:
    return name.replace(" ", "").replace("_", "").replace("-", "").lower()


_BY_NAME: Final[dict[str, UnicodeClass]] = {
    **{_normalized(name): UnicodeClass(f"\\p{{{name}}}") for name in f"{_CATEGORIES} {_SCRIPTS}".split()},
    **{
        _normalized(alias): UnicodeClass(f"\\p{{{name}}}")
        for alias, _, name in (pair.partition("=") for pair in _ALIASES.split())
    },
    **dict.fromkeys(("c", "other"), UnicodeClass(_VISIBLE, is_complement=True)),
    **dict.fromkeys(("cn", "unassigned"), UnicodeClass(_ASSIGNED, is_complement=True)),
    **dict.fromkeys(("lc", "casedletter"), UnicodeClass(r"\p{Lu}\p{Ll}\p{Lt}")),
    "assigned": UnicodeClass(_ASSIGNED),
    "ascii": UnicodeClass(r"\x00-\x7F"),
    "any": UnicodeClass(r"\x00-\x{10FFFF}"),
}


def unicode_class(name: str) -> UnicodeClass | None:
    """Return the class with this name, or None."""
    return _BY_NAME.get(_normalized(name))
