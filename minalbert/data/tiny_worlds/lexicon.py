"""The words outside of scripts: names, connectives, adverbs, adjectives, and any number of compounds."""


def _words(text):
    return tuple(text.split())


WOMEN = _words("""
    Ada Bela Cora Dina Edda Fern Gwen Hilda Iris Juno Kira Lena Mira Nora Olga Petra Rosa Sara Tilda Una Vera Wanda
    Ylva Zora Alma Britt Celia Delia Elsa Freya Greta Heidi Ines Jana Karin Lotte Maud Nina Opal Pia
""")
MEN = _words("""
    Abel Boris Carl Dirk Emil Felix Gus Hugo Ivan Jonas Karl Leo Milo Nils Otto Paul Quinn Rolf Sven Theo Ulf Viktor
    Walt Xander Yuri Zeno Axel Bruno Conrad Damian Erik Franz Gabor Hans Igor Jasper Klaus Lukas Magnus Noel
""")

CONNECTIVES = ("then", "next", "after that", "also", "meanwhile", "soon", "again", "later", "now", "still")
EARLY = ("first", "at the start", "early on")        # true connectives: used only where they hold
LATE = ("finally", "at last", "in the end")

ADVERBS = _words("""
    slowly carefully quietly quickly gladly proudly calmly firmly gently eagerly silently boldly neatly patiently
    wearily cheerfully
""")
ADJECTIVES = _words("""
    old little large small big heavy plain clean worn red blue green brown yellow black white pale bright dull broad
    narrow long short tall thick thin rough smooth soft hard strong fine familiar strange famous modest splendid
    lovely ugly odd handsome simple sturdy fragile solid tidy elegant foreign local royal ancient modern precious
    cheap splintered tattered gleaming sombre colourful spotless crooked enormous tiny massive excellent ordinary
    remarkable peculiar rustic grand faded dented battered
""")

FILLERS = (
    "the (sky|air|wind|light) (was|seemed|grew) (grey|mild|cold|bright|damp|still)",
    "a (dog|cat|gull|sparrow|goat) (barked|slept|watched|wandered|called) nearby",
    "{actor} felt (tired|happy|hungry|restless|calm|curious)",
    "{helper} (laughed|nodded|sang|frowned|smiled|shrugged)",
    "it (rained|snowed|drizzled|thundered) for (a day|a while|a moment)",
    "(someone|a child|a stranger) (waved|shouted|passed) from the (road|lane|path)",
)

ITEMS = ("kettle", "key", "coat", "compass", "umbrella", "violet", "mask", "flute", "apple", "kite", "map", "ball")
GIVING = ("gave", "passed", "handed", "lent")
KEEPING = "kept"

ANY_THING = ("ball", "bell", "cup", "hat", "jar", "key", "pot", "stone", "toy", "book", "chair", "coin")
ANY_THINGS = ("balls", "bells", "cups", "hats", "jars", "keys", "pots", "stones", "toys", "books", "chairs", "coins")

ROOTS = _words("""
    ash birch oak elm fir pine moss fern reed rush thorn briar bram heath marsh fen moor glen dale vale hill cliff
    crag stone rock flint slate clay sand salt iron copper silver gold tin lead brass steel coal ember smoke flame
    sun moon star dawn dusk night day rain snow frost ice hail storm wind cloud mist dew tide wave sea lake pond
    brook spring well mill barn gate hearth wheat rye oat barley hop apple plum pear cherry rose lily ivy clover
    nettle thistle wool silk linen wax honey milk hawk wren crow swan fox wolf hare stag bear ox lamb goat bee north
    south east west
""")
SURNAME_ENDS = _words("""
    ford well wood field ton ham by worth bury stead ley ridge brook shaw croft dale more land hurst wick bridge
    combe thorpe side ward man son gard holm strand berg stein
""")
MODIFIER_ENDS = _words("""
    worn bound made stained rimmed edged scented coloured grown blown washed lined clad kissed bitten born fed lit
    marked patterned proof tinted touched wrapped crowned dark bright soft cold warm heavy rich
""")


def surnames(count):
    return _compounds(SURNAME_ENDS, count, str.capitalize)


def modifiers(count):
    return _compounds(MODIFIER_ENDS, count, str)


def _compounds(ends, count, spelling):
    """Compounds of roots and ends; neighbours have other roots and other ends."""
    pairs = ((root, ends[(i + turn) % len(ends)]) for turn in range(len(ends)) for i, root in enumerate(ROOTS))
    words = dict.fromkeys(spelling(root + end) for root, end in pairs)
    return tuple(words)[:count]


def indefinite(noun):
    """The noun with a or an before it, depending on its first sound."""
    vowel = noun[0] in "aeiou" and not noun.startswith(("uni", "usu", "use", "one", "eu"))
    return ("an " if vowel else "a ") + noun
