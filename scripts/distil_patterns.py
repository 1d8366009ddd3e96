"""Generate training sentences from patterns: what people say, ask and write down."""

import random
import re
from collections.abc import Iterator

NAMES = (
    "Aisha Alice Amir Anna Ben Carla Chen David Diego Elena Emma Farid Grace Hana Hugo Irene Ivan Jack Jonas Julia "
    "Karim Kate Laura Leo Lina Lucas Maria Marta Max Mei Mia Milan Nadia Nina Noah Olga Omar Paul Priya Rosa Ravi Sam "
    "Sara Sofia Theo Tom Vera Viktor Yuki Zoe"
).split()
EACH = 2_500
"""Number of sentences per pattern."""
# WordNet's numbers for kinds of words.
_KINDS = {
    "act": 4,
    "animal": 5,
    "thing": 6,
    "idea": 9,
    "talk": 10,
    "event": 11,
    "feeling": 12,
    "food": 13,
    "group": 14,
    "place": 15,
    "person": 18,
    "plant": 20,
    "state": 26,
    "stuff": 27,
    "time": 28,
    "trait": 7,
    "quality": 0,
}
_TIMES = (
    "yesterday;last week;last weekend;last summer;this morning;in May;in October;two years ago;on Friday;on Monday;"
    "last night;a few days ago;next month;tomorrow;since 2019;in 2022;at noon;for three weeks;every Sunday;recently"
).split(";")
_KIN = "mother;father;sister;brother;son;daughter;wife;husband;grandmother;friend;neighbour;boss;cousin;partner".split(
    ";"
)
PATTERNS = """
I went to the {place} with my {kin} {when}, and it was {quality}!
My {kin} gave me a {thing} {when}. I love it.
Have you ever tried {food} with {food}? It is really good.
I am so proud of my {kin}, who became a {person} {when}.
Wow, that sounds {quality}! How did the {event} go?
Thanks, {name}! I was feeling a lot of {feeling} about the {event}.
We adopted a {animal} {when} and named it {name}.
What did {name} buy {when}?
When did {name} go to the {place}?
Where does {name}'s {kin} work?
Which {thing} did {name} recommend?
Who helped {name} with the {act}?
How long has {name} been a {person}?
Why was {name} worried about the {state}?
What kind of {food} does {name} like?
What did {name} say about {idea}?
What pets does {name} have?
Does {name} like {animal}s or {animal}s more?
I have started taking classes in {act} {when}.
My {kin} and I are planning a trip to the {place} {when}.
I am reading a book about {idea} and {event}.
I just finished painting a {animal} next to a {plant}.
{name} told me that the {thing} had broken {when}.
{name} wants to become a {person} because of {feeling}.
It has been hard since my {kin} lost the job as a {person}.
We had {food} and {food} for dinner at the {place}.
I planted a {plant} in the garden {when}.
{name} moved to another {place} {when}.
{name} is allergic to {food} and {animal}s.
{name} prefers {food} to {food}.
{name} gave a talk on {idea} to the {group}.
The {group} meets {when} to talk about {act}.
That is a {quality} photo! Is that your {kin} with the {animal}?
Don't give up, {name}. The {act} will get easier.
I felt {feeling} when I saw the {thing}.
Our {kin} is in hospital with a {state}.
I lost my {thing} at the {place} {when}.
Playing music helps me with {feeling}.
I ran a race for charity {when} and met a {person}.
The {person} asked for a {quality} {thing}.
The {thing} is made of {stuff}.
Remember to buy {food}, {food} and {stuff}.
The user prefers {quality} answers about {idea}.
The user lives near the {place} and works as a {person}.
The meeting about the {act} was moved to {when}.
Decision: we use the {thing} for {act}, not the {thing}.
Do not touch the {thing} while the {act} is running.
The {act} fails when the {thing} is missing.
The {thing} returned an error because of the {state}.
To fix the {state}, restart the {thing} and check the {idea}.
Run the tests for the {thing} before each {act}.
The {thing} module handles {act} and {talk}.
The {thing} was slow; caching the {idea} made it fast.
Deadline for the {event}: {when}.
The {group} agreed on the {talk} {when}.
{name} owns the {thing} and reviews every {talk}.
The password of the {thing} is kept in the {thing}.
Notes on {idea}: {quality}, and mostly about {act}.
How do I configure the {thing} for {act}?
Where is the {thing} stored?
What causes the {state} in the {thing}?
Which {group} is responsible for the {thing}?
The price of {stuff} rose by ten percent {when}.
Measure the {trait} of the {thing} before the {act}.
""".strip().splitlines()


def fill(lexicon: dict[int, list[str]], chance: random.Random) -> Iterator[str]:
    """Yield each pattern many times, filled with words of the kinds it names."""

    def word(hole: re.Match[str]) -> str:
        kind = hole[1]
        if kind in _KINDS:
            return chance.choice(lexicon[_KINDS[kind]])
        return chance.choice({"name": NAMES, "kin": _KIN, "when": _TIMES}[kind])

    for pattern in PATTERNS:
        for _ in range(EACH):
            yield re.sub(r"\{(\w+)\}", word, pattern)
