"""Eight line scripts: activities from a first step to a last. A step's place in the story is absolute.

`either` lists the steps that may change places with the next one. If a story has the condition, the steps of the second
block (middle to stop) come before those of the first (start to middle).
"""

from .schemas import Schema

LINES = (
    Schema(
        name="bake", kind="line", place="in the bakery|kitchen|pantry",
        things={"bowl": "bowl|basin|dish", "dough": "dough|batter|mixture", "oven": "oven|stove|furnace"},
        either=(1, 6), condition="the (chimney|flue|grate) was (cold|damp|blocked)", blocks=(3, 6, 8),
        steps="""
            (took|fetched|lifted) [bowl] from the <shelf|rack|cupboard>
            (poured|tipped|sifted) <flour|rye|oats> into [bowl]
            (cracked|broke|whisked) some <eggs|yolks|whites> over [bowl]
            (stirred|mixed|beat) [dough] with the <spoon|whisk|fork>
            (rolled|pressed|flattened) [dough] across the <board|marble|table>
            (cut|shaped|divided) [dough] into <rings|squares|knots>
            (heated|warmed|stoked) [oven] with some <charcoal|logs|kindling>
            = wash
            (slid|pushed|set) [dough] into [oven]
            (waited|hummed|yawned) while [oven] (glowed|ticked|hissed)
            (drew|pulled|lifted) the <loaves|cakes|buns> out with a <shovel|glove|hook>
            (glazed|dusted|wrapped) the <loaves|cakes|buns> for a <wedding|guest|neighbour>
        """),
    Schema(
        name="fish", kind="line", place="at the harbour|pier|jetty",
        things={"boat": "boat|dinghy|skiff", "anchor": "anchor|weight|grapnel", "rod": "rod|hook|line",
                "fish": "trout|cod|perch|mackerel"},
        either=(2, 7), condition="the (rain|night|tide) was near", blocks=(7, 9, 11),
        steps="""
            (untied|loosened|freed) [boat] from the <post|mooring|dock>
            (rowed|steered|paddled) [boat] past the <rocks|buoy|reef>
            (dropped|lowered|threw) [anchor] over the <side|stern|bow>
            (baited|weighted|dressed) [rod] with the <worm|fly|shrimp>
            (cast|flung|swung) [rod] across the <waves|shallows|swell>
            (felt|noticed|saw) [rod] (twitch|bend|jerk)
            (reeled|hauled|drew) in [fish] with a <tug|heave|shout>
            (cleaned|salted|gutted) [fish] with a <knife|blade|scraper>
            = wash
            (raised|heaved|pulled) [anchor] back with a <sigh|groan|laugh>
            (turned|guided|sailed) [boat] toward a <shore|beach|quay>
            (carried|sold|showed) [fish] to a <cook|merchant|innkeeper>
        """),
    Schema(
        name="doctor", kind="line", place="in the town|suburb|village",
        things={"pain": "fever|cough|rash|sprain", "form": "form|card|document",
                "remedy": "remedy|medicine|ointment|tonic"},
        either=(3, 5), condition="the (chemist|dispenser|druggist) was (out|away|busy)", blocks=(8, 10, 11),
        steps="""
            (woke|rose|stirred) at <dawn|midnight|sunrise> with [pain]
            (called|rang|asked) the <nurse|clerk|receptionist> about [pain]
            (rode|hurried|limped) to the <clinic|surgery|hospital>
            (signed|filled in|handed in) [form] for the <nurse|clerk|receptionist>
            = sit
            (showed|described|explained) [pain] to the <doctor|physician|medic>
            (bared|raised|offered) an <arm|ear|ankle> for the <stethoscope|thermometer|bandage>
            (heard|learned|understood) the <cause|name|danger> of [pain]
            (received|collected|bought) [remedy] at a <counter|pharmacy|dispensary>
            (paid|thanked|left) the <pharmacist|cashier|assistant> with a <coin|nod|bow>
            (went|travelled|crept) home to a <couch|bed|armchair>
            (swallowed|measured|applied) [remedy] until the <ache|swelling|shivers> (faded|passed|vanished)
        """),
    Schema(
        name="paint", kind="line", place="in the studio|attic|workshop",
        things={"canvas": "canvas|panel|scroll", "scene": "castle|meadow|portrait|orchard",
                "brush": "brush|sponge|spatula"},
        either=(5, 9), condition="the (light|sketch|view) was (faint|poor|dim)", blocks=(5, 7, 9),
        steps="""
            (bought|chose|ordered) [canvas] from the <fair|shop|market>
            (stretched|nailed|clamped) [canvas] onto the <easel|board|frame>
            (sketched|traced|outlined) [scene] in <charcoal|pencil|chalk>
            (squeezed|mixed|blended) some <crimson|ochre|violet|turquoise> on the <palette|plate|saucer>
            (dipped|loaded|soaked) [brush] in <colour|pigment|paint>
            (filled|tinted|shaded) the <clouds|sky|distance> of [scene]
            (dabbed|stroked|dragged) [brush] along the <edges|corners|borders>
            (added|dotted|brushed) some <shadows|highlights|leaves> to [scene]
            (scrubbed|squeezed|cleaned) [brush] in a <sink|jar|pail>
            (dried|aired|varnished) [canvas] by a <window|heater|skylight>
            (signed|dated|titled) [canvas] in one <corner|margin|edge>
            (hung|mounted|displayed) [canvas] in a <gallery|parlour|museum>
        """),
    Schema(
        name="camp", kind="line", place="in the forest|valley|gorge",
        things={"pack": "rucksack|satchel|knapsack", "map": "map|chart|guidebook", "tent": "tent|tarpaulin|shelter",
                "fire": "campfire|blaze|bonfire"},
        either=(0, 8), condition="the (evening|dusk|frost) was (close|bitter|early)", blocks=(4, 6, 8),
        steps="""
            (packed|stuffed|filled) [pack] with <socks|apples|biscuits>
            (studied|marked|unfolded) [map] at the <crossroads|signpost|station>
            (hiked|climbed|trudged) up the <trail|slope|pass> with [pack]
            (found|picked|reached) the <clearing|hollow|glade> with [map]
            (pitched|raised|pegged) [tent] under the <pines|birches|cliffs>
            = lamp
            (gathered|chopped|stacked) some <twigs|branches|bark>
            (kindled|sparked|started) [fire] beside a <boulder|stump|log>
            (boiled|roasted|toasted) some <beans|chestnuts|sausages> over [fire]
            (told|sang|whispered) a <tale|ballad|riddle> near [fire]
            (smothered|doused|buried) [fire] with a <spade|boot|stick>
            (crawled|rolled|slipped) into [tent] for the <night|storm|dark>
        """),
    Schema(
        name="court", kind="line", place="in the court|chamber|tribunal",
        things={"crime": "theft|forgery|burglary|fraud", "lawyer": "lawyer|barrister|solicitor",
                "claim": "complaint|petition|claim", "verdict": "verdict|ruling|judgement"},
        either=(1, 5), condition="the (witness|bystander|accuser) was (late|missing|ill)", blocks=(5, 7, 9),
        steps="""
            (reported|discovered|suspected) [crime] inside the <bank|mill|warehouse>
            (hired|consulted|begged) [lawyer] about [crime]
            (gathered|sorted|examined) the <receipts|letters|contracts> with [lawyer]
            (filed|stamped|delivered) [claim] about [crime]
            (swore|promised|vowed) on the <scripture|flag|constitution> to tell the <truth|facts|story>
            (questioned|challenged|accused) the <witness|bystander|accuser> about [crime]
            (objected|argued|pleaded) against the <lies|rumours|slander>
            (presented|revealed|read) the <receipts|letters|contracts> in a <speech|whisper|shout>
            = write
            (watched|faced|awaited) a <jury|magistrate|judge>
            (heard|accepted|celebrated) [verdict] beside {helper}
            (paid|shared|settled) the <costs|damages|fine> after [verdict]
        """),
    Schema(
        name="parcel", kind="line", place="in the parlour|hallway|bedroom",
        things={"gift": "scarf|teapot|violin|vase", "parcel": "parcel|package|box", "label": "label|address|tag"},
        either=(1, 5), condition="the (string|tape|straw) was (lost|short|gone)", blocks=(3, 5, 7),
        steps="""
            (picked|knitted|found) [gift] for the <aunt|uncle|cousin>
            = eat
            (laid|placed|nestled) [gift] in some <tissue|wool|velvet>
            (lined|padded|stuffed) [parcel] with <straw|newspaper|sawdust>
            (tied|sealed|bound) [parcel] with <string|tape|ribbon>
            (wrote|printed|spelled) [label] with the <pen|marker|quill>
            (composed|added|enclosed) a <greeting|poem|postcard> about [gift]
            (took|brought|hugged) [parcel] to the <depot|post office|kiosk>
            = rest
            (weighed|lifted|handed) [parcel] over a <desk|fence|grille>
            (licked|glued|stuck) the <stamps|stickers|seals> beside [label]
            (kept|pocketed|requested) a <receipt|discount|voucher> for [parcel]
        """),
    Schema(
        name="shelf", kind="line", place="in the shed|garage|basement",
        things={"plan": "plan|drawing|design", "plank": "plank|beam|slab", "drill": "drill|screwdriver|hammer"},
        either=(1, 9), condition="the (varnish|lacquer|primer) was (thick|late|sticky)", blocks=(3, 6, 8),
        steps="""
            (measured|eyed|tapped) the <wall|alcove|niche> with the <ruler|tape|string>
            (drafted|erased|pencilled) [plan] across the <envelope|newspaper|board>
            (selected|bought|ordered) [plank] from the <sawmill|yard|lumberyard>
            (sawed|trimmed|shortened) [plank] by the <inch|ell|arm>
            (sanded|planed|rasped) [plank] over the <trestle|workbench|vice>
            (stained|painted|coated) [plank] with <varnish|lacquer|primer>
            (bored|pierced|drilled) some <holes|slots|notches> with [drill]
            (screwed|bolted|hammered) the <brackets|hinges|supports> with [drill]
            (rested|laid|fitted) [plank] on the <brackets|supports|pegs>
            (compared|checked|tested) an <edge|angle|outline> with [plan]
            = sweep
            (arranged|lined up|piled) the <books|novels|atlases> on [plank]
        """),
)  # fmt: skip
