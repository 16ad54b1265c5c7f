"""Texts that every text model is compared on: what shoppers type and what shops write.

From one word (3 tokens with the two special ones) to more than any supported
encoder reads (256 tokens), in an order that mixes lengths, so that every batch
of eight holds short and long rows.
"""

_LONG = (
    "This wrap coat is cut from a dense double-faced wool with a soft, brushed surface. The "
    "shoulders drop slightly below the natural line and the sleeves are set deep, so that a "
    "chunky knit fits underneath. A wide shawl collar folds flat or stands up against the wind. "
    "The belt is long enough to be tied in front or looped at the back, and two welt pockets sit "
    "at the side seams where the hands expect them. Inside, the seams are bound in viscose tape; "
    "there is no lining, which keeps the coat light for its length. "
)
_CARE = (
    "Care: brush after wearing and air overnight; steam from the inside, never press. Dry clean "
    "at most once a season. Small snags can be pulled through to the wrong side with a needle. "
    "Store on a broad hanger, folded in a cotton bag during the summer, with cedar against moths. "
    "The model is 178 cm tall and wears a size M; for a close fit, choose one size smaller. "
    "Length at centre back 118 cm in size M, chest 112 cm, sleeve from the neck 82 cm. "
)

SAMPLE_TEXTS: tuple[str, ...] = (
    "dress",
    "Women's cropped denim jacket in washed indigo with copper buttons, two chest pockets, an "
    "adjustable waistband and a slightly boxy fit. 99% cotton, 1% elastane. Machine wash cold.",
    "red shoes",
    _LONG + _CARE,
    "black leather ankle boots with a block heel under 100",
    "linen shirt men white",
    "Pleated midi skirt in recycled satin. Elastic waist, falls to mid-calf, opaque. Made in "
    "Portugal; the fabric is certified and free of PFAS.",
    "something to wear to a garden wedding in June, not white, with sleeves",
    "Größe 38 Übergangsjacke für Damen",
    _CARE + _LONG + _CARE,
    "SNEAKERS!!! size 10.5 (US) / 44 EU — running, wide fit",
    "robe d'été à fleurs, bretelles croisées",
    "Merino crew-neck jumper, 12 gauge, ribbed cuffs and hem, colour: oatmeal melange. Mulesing-"
    "free wool from a single farm; knitted in one piece so that no side seam can rub.",
    "socks 3-pack",
    "お気に入りのデニム 👗",
    "handbag like the one in the picture but in green and with a longer strap for cross-body wear",
)
