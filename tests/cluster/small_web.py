"""A small web on several hosts."""

import random
import string

from gossamer.testing import Reply, Web

HOSTS = ("a.localhost", "b.localhost", "c.localhost", "d.localhost")
"""Names that lead to this machine without anybody being asked."""
LEAVES = 10
LETTERS = str.maketrans("0123456789/", "abcdefghij ")


def describe(web: Web, leaves_each: int = LEAVES, noise: int = 0) -> None:
    """Describe four hosts that link to each other, with one of everything that can happen.

    Each leaf has so many letters of noise, of which a third goes when they are compressed.
    """
    port = web.address[1]
    homes = [f"http://{host}:{port}/" for host in HOSTS]
    for host in HOSTS:
        site = web.site(host)
        site.robots("User-agent: *\nDisallow: /private/\n")
        leaves = [f"/leaf/{number}" for number in range(leaves_each)]
        endings = ["/gone", "/missing", "/private/x", "/old", "/same-1", "/same-2", "/flaky"]
        site.page("/", links=["/way/1", *endings, *leaves, *homes], text=host * 30)
        for number in range(1, 8):
            site.page(f"/way/{number}", links=[f"/way/{number + 1}", "/"], text=f"{host} {number}")
        for leaf in leaves:
            site.page(
                leaf,
                links=["/", homes[0], "/leaf/0"],
                text=f"{host} {leaf.translate(LETTERS)} " * 50 + _noise(host + leaf, noise),
            )
        for duplicate_of in ("/same-1", "/same-2"):
            site.page(duplicate_of, html=f"<p>I am unique on {host}.")
        site.status("/gone", 410)
        site.redirect("/old", "/new")
        site.redirect("/new", "/way/2")
        site.reply("/flaky", Reply(status=500), Reply(body=f"<p>Better now, says {host}."))


def _noise(seed: str, letters: int) -> str:
    """Return letters that are always the same, and cannot be compressed to much less."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    return "".join(chance.choices(string.ascii_letters, k=letters))
