"""Eight ring scripts: rounds that begin anywhere and return. A step has a successor but no absolute place.

`blocks` is empty here: if a story has the condition, the two halves of what follows it change places.
"""

from .schemas import Schema

RINGS = (
    Schema(
        name="farm", kind="ring", place="at the farm|orchard|paddock",
        things={"plough": "plough|harrow|rake"}, condition="the (spring|thaw|harvest) was (late|early|wet)",
        steps="""
            (ploughed|furrowed|turned) the <field|plot|acre> with the <oxen|horses|mules>
            (sowed|scattered|planted) the <barley|wheat|clover> in <rows|furrows|drills>
            = draw
            (watered|sprinkled|soaked) the <seedlings|sprouts|shoots> at <dusk|noon|daybreak>
            (weeded|hoed|thinned) the <patch|beds|terrace> between the <thistles|nettles|stones>
            (guarded|fenced|netted) the <crop|ears|stalks> from the <crows|rabbits|deer>
            = eat
            (reaped|mowed|scythed) the <barley|wheat|clover> along the <hedge|brook|ridge>
            (threshed|winnowed|sieved) the <grain|kernels|husks> on the <canvas|threshing floor|stones>
            = carry
            (repaired|sharpened|oiled) [plough] beside the <barn|silo|stable>
            (spread|forked|carted) <manure|compost|lime> over the <soil|stubble|clods>
        """),
    Schema(
        name="light", kind="ring", place="at the lighthouse|tower|beacon",
        things={"lens": "lens|mirror|prism"}, condition="the (fog|haze|mist) was (thick|low|heavy)",
        steps="""
            (climbed|mounted|scaled) the <stairs|ladder|spiral> to the <lantern room|top|platform>
            (polished|buffed|breathed on) [lens] with a <cloth|fleece|sleeve>
            = lamp
            (wound|cranked|adjusted) the <clockwork|gears|pendulum> beside [lens]
            (logged|spotted|signalled) the <ships|steamers|schooners> near the <reef|strait|cape>
            (sounded|tested|muffled) the <foghorn|siren|gong> for the <sailors|pilots|whalers>
            = write
            (watched|admired|awaited) the <storm|squall|sunrise> from the <balcony|railing|deck>
            (dimmed|quenched|shaded) the <beam|flame|glow> with the <shutters|blinds|curtains>
            = open
            (refilled|siphoned|ordered) the <paraffin|petroleum|whale oil> for the <tank|burner|wick>
            (napped|snored|slept) in the <cottage|cabin|hammock> above the <surf|spray|cliff>
        """),
    Schema(
        name="ferry", kind="ring", place="at the ferry|river|landing",
        things={"rope": "rope|hawser|cable"}, condition="the (river|water|stream) was (high|swollen|wild)",
        steps="""
            = open
            (loaded|guided|waved) the <wagons|carts|cattle> onto the <ramp|planks|deck>
            (collected|clipped|inspected) the <tickets|coins|tolls> from the <farmers|pedlars|drovers>
            = close
            (blew|pulled|sounded) the <whistle|horn|hooter> at the <captain|helmsman|crew>
            (pushed|poled|backed) off from the <north|east|grassy> <bank|shore|wharf>
            (dodged|fought|crossed) the <current|rapids|eddies> with the <rudder|tiller|wheel>
            (slowed|reversed|cut) the <engine|paddle|motor> near the <piles|shallows|jetty>
            (tossed|looped|hitched) [rope] around the <bollard|cleat|stump>
            (unloaded|helped|released) the <passengers|pilgrims|riders> beside the <inn|chapel|tollhouse>
            = sweep
            = carry
        """),
    Schema(
        name="wash", kind="ring", place="in the laundry|scullery|washhouse",
        things={"basket": "basket|hamper|bundle"}, condition="the (sun|breeze|soap) was (weak|scarce|poor)",
        steps="""
            (sorted|heaped|emptied) [basket] by <colour|owner|size>
            = draw
            (soaked|drenched|steeped) the <collars|cuffs|towels> in <lye|starch|bleach>
            (rubbed|soaped|lathered) the <stains|spots|smudges> on the <linen|shirts|sheets>
            (swirled|dunked|stirred) the <wool|cotton|silk> in the <tub|basin|copper>
            (wrung|twisted|squeezed) the <aprons|socks|scarves> through the <mangle|rollers|press>
            = greet
            (hung|pegged|draped) the <garments|quilts|gowns> on the <clothesline|hedge|rail>
            (ironed|steamed|pressed) the <pleats|seams|hems> on a <trestle|board|blanket>
            (folded|stacked|smoothed) the <napkins|pillowcases|tablecloths> into [basket]
            = rest
            (delivered|returned|presented) [basket] to the <convent|hotel|barracks>
        """),
    Schema(
        name="patrol", kind="ring", place="at the fort|castle|garrison",
        things={"torch": "torch|spear|halberd"}, condition="the (moat|bridge|wall) was (icy|frozen|slippery)",
        steps="""
            (passed|rattled|locked) the <iron|bronze|oak> <portcullis|grating|wicket>
            (crossed|paced|inspected) the <courtyard|square|plaza> with [torch]
            (relieved|woke|questioned) the <sentry|guard|watchman> on the <drawbridge|causeway|ramp>
            = lamp
            (circled|searched|mounted) the <rampart|bastion|parapet> above the <moat|ditch|marsh>
            (peered|stared|squinted) across the <plain|forest|hills> for <spies|raiders|smoke>
            = close
            (descended|entered|explored) the <dungeon|crypt|vault> under the <keep|donjon|barbican>
            (fed|scolded|roused) the <prisoners|hounds|captives> with <crusts|gruel|bones>
            (visited|warmed|smelled) the <armoury|forge|smithy> with [torch]
            = greet
            (reported|saluted|bowed) to the <captain|marshal|sergeant> under the <banner|arch|clock>
        """),
    Schema(
        name="moon", kind="ring", place="at the observatory|dome|hilltop",
        things={"telescope": "telescope|tripod|sextant"}, condition="the (sky|horizon|air) was (cloudy|hazy|dusty)",
        steps="""
            (missed|sought|marked) the <dark|hidden|new> moon over the <chimneys|rooftops|spires>
            (spotted|sketched|found) the <thin|young|slender> crescent with [telescope]
            = write
            (charted|plotted|diagrammed) the <half|quarter|tilted> moon beside [telescope]
            (measured|timed|filmed) the <swelling|gibbous|rising> disc through the <eyepiece|filter|finder>
            (photographed|framed|toasted) the <full|round|golden> moon above the <valley|lake|steeple>
            = rest
            (compared|tracked|recorded) the <shrinking|waning|paling> disc against the <stars|planets|comets>
            (penned|printed|posted) a <letter|bulletin|telegram> about the last <quarter|eclipse|phase>
            (glimpsed|caught|followed) the <fading|final|faint> sliver before <sunrise|dawn|breakfast>
            = lamp
            (updated|bound|sealed) the <almanac|register|catalogue> for the <library|printer|archive>
        """),
    Schema(
        name="shift", kind="ring", place="in the bakehouse|storefront|arcade",
        things={"tray": "tray|trolley|crate"}, condition="the (yeast|leaven|cream) was (stale|slow|sour)",
        steps="""
            = count
            (fed|proofed|revived) the <sourdough|yeast|leaven> in a <crock|pail|jar>
            (kneaded|slapped|stretched) the <rolls|pretzels|bagels> on the <slate|counter|trough>
            (scored|braided|twisted) the <baguettes|plaits|crescents> with a <razor|comb|thumb>
            = close
            (stoked|swabbed|fired) the <hearth|kiln|brick oven> with <peat|coke|cinders>
            (loaded|balanced|wheeled) [tray] toward the <hatch|shopfront|parlour>
            (priced|displayed|arranged) the <pastries|tarts|muffins> in the <window|cabinet|vitrine>
            (served|teased|charmed) the <regulars|schoolboys|widows> with <samples|crumbs|jokes>
            (tallied|banked|balanced) the <takings|pennies|banknotes> behind the <till|curtain|register>
            = wash
            = carry
        """),
    Schema(
        name="bus", kind="ring", place="at the depot|school|terminus",
        things={"bus": "bus|coach|minibus"}, condition="the (road|highway|detour) was (closed|flooded|snowy)",
        steps="""
            (started|revved|warmed up) [bus] behind the <garage|fence|canteen>
            (picked up|collected|beckoned) the <twins|pupils|scholars> by the <oak|pond|windmill>
            = greet
            (honked|braked|slowed) at the <crossing|roundabout|traffic light> near the <bakery|dairy|butcher>
            (hushed|counted|entertained) the <infants|choirboys|rascals> with <songs|quizzes|stickers>
            = open
            (dropped|waved off|escorted) the <classes|monitors|latecomers> outside the <gym|assembly hall|playground>
            (parked|reversed|turned) [bus] under the <chestnut|flagpole|awning>
            = eat
            (refuelled|hosed|serviced) [bus] with <diesel|foam|grease>
            (retrieved|shelved|labelled) the <mittens|lunchboxes|satchels> from the <seats|aisle|luggage rack>
            (studied|timed|revised) the <timetable|route|roster> with the <dispatcher|inspector|mechanic>
        """),
)  # fmt: skip
