#!/usr/bin/env python3
"""What `perennial schedule next` prints, beside a second calendar: Python's zoneinfo, minute by minute.

The second calendar knows nothing of how the first one searches. It goes through all minutes of a window, and asks of
each whether a rule that is written here anew means it. Expressions are random, with all that the grammar has; zones
are northern, southern, with half hours and quarters, and with a change of half an hour.

It is blind to seconds, to zones whose clocks change by a part of a minute, and to what an expression must not be.

    calendar_test.py [--seed N] [--years 0.1] [--changes 4] [--expressions 12]   # The time that is gone through, for each zone.
"""

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import zoneinfo

PERENNIAL = os.environ["PERENNIAL"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata",
         "Asia/Kathmandu", "Pacific/Chatham", "America/St_Johns", "Africa/Casablanca", "Pacific/Apia", "Asia/Tehran"]
FIRST, LAST = 2006, 2026  # Twenty years.
MINUTE = datetime.timedelta(minutes=1)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()


# ---- The second calendar.

def numbers(field, least, most, names=()):
    found = set()
    for item in field.lower().split(","):
        part, _, step = item.partition("/")
        first, dash, last = part.partition("-")
        if part == "*":
            low, high = least, most
        else:
            low = number(first, least, names)
            high = number(last, least, names) if dash else most if step else low
        found.update(range(low, high + 1, int(step or 1)))
    return found


def number(word, least, names):
    return names.index(word) + least if word in names else int(word)


def week_day(day):
    return day.isoweekday() % 7


def days_of_month(day):
    after = (day.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
    return (after - datetime.timedelta(days=1)).day


def is_nearest_weekday(day, wanted):
    """Whether the day is the weekday that is nearest to this day of its month."""
    if wanted > days_of_month(day) or week_day(day) in (0, 6):
        return False
    candidates = [day.replace(day=number) for number in range(1, days_of_month(day) + 1)
                  if week_day(day.replace(day=number)) not in (0, 6)]
    return min(candidates, key=lambda each: abs(each.day - wanted)) == day


def is_in_month_field(field, day):
    for item in field.lower().split(","):
        last = days_of_month(day)
        if item == "l":
            found = day.day == last
        elif item == "lw":
            found = is_nearest_weekday(day, last)
        elif item.startswith("l-"):
            found = day.day == last - int(item[2:])
        elif item.endswith("w"):
            found = is_nearest_weekday(day, int(item[:-1]))
        else:
            found = day.day in numbers(item.replace("?", "*"), 1, 31)
        if found:
            return True
    return False


def is_in_week_field(field, day):
    for item in field.lower().split(","):
        if "#" in item:
            name, nth = item.split("#")
            found = number(name, 0, DAYS) % 7 == week_day(day) and (day.day - 1) // 7 + 1 == int(nth)
        elif item.endswith("l"):
            found = number(item[:-1], 0, DAYS) % 7 == week_day(day) and day.day + 7 > days_of_month(day)
        else:
            found = week_day(day) in {each % 7 for each in numbers(item.replace("?", "*"), 0, 7, DAYS)}
        if found:
            return True
    return False


class Rule:
    def __init__(self, expression):
        minute, hour, self.month_day, month, self.week_day = expression.split()
        self.minutes, self.hours = numbers(minute, 0, 59), numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.is_both = self.month_day[0] in "*?" or self.week_day[0] in "*?"
        self.days = {}

    def means_day(self, day):
        if day not in self.days:
            each = (is_in_month_field(self.month_day, day), is_in_week_field(self.week_day, day))
            self.days[day] = day.month in self.months and (all(each) if self.is_both else any(each))
        return self.days[day]

    def means(self, local):
        return local.minute in self.minutes and local.hour in self.hours and self.means_day(local.date())

    def is_due(self, local, gap):
        """`local`: the time that clocks show. `gap`: the times that they have left out just before."""
        if len(self.hours) == 24:
            return self.means(local)
        return (local.fold == 0 and self.means(local)) or any(self.means(each) for each in gap)


def minutes_of(zone, begin, end):
    """Each minute, what clocks show, and what they have left out before it."""
    before = None
    while begin < end:
        local = begin.astimezone(zone)
        plain = local.replace(tzinfo=None, fold=0)
        gap = []
        if before is not None:
            missing = before + MINUTE
            while missing < plain:
                gap.append(missing)
                missing += MINUTE
        before = plain
        yield begin, local.replace(tzinfo=None), gap
        begin += MINUTE


# ---- Random expressions.

def random_item(chance, least, most, names):
    def word(value):
        return names[value - least] if names and value - least < len(names) and chance.random() < 0.5 else str(value)
    kind = chance.random()
    low, high = sorted((chance.randint(least, most), chance.randint(least, most)))
    if kind < 0.4:
        return word(low)
    if kind < 0.6:
        return f"{low}-{high}"
    if kind < 0.75:
        return f"{low}-{high}/{chance.randint(1, 7)}"
    if kind < 0.9:
        return f"*/{chance.randint(2, most)}"
    return f"{low}/{chance.randint(1, 20)}"


def random_field(chance, least, most, names=(), stars=0.5, specials=()):
    if chance.random() < stars:
        return "*"
    items = [chance.choice(specials)(chance) if specials and chance.random() < 0.4
             else random_item(chance, least, most, names) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    return ",".join(items)


def random_expression(chance):
    month_day = random_field(chance, 1, 31, specials=(
        lambda c: "L", lambda c: "LW", lambda c: f"L-{c.randint(1, 30)}", lambda c: f"{c.randint(1, 31)}W"))
    week_day = random_field(chance, 0, 7, DAYS, specials=(
        lambda c: f"{c.randint(0, 7)}L", lambda c: f"{c.choice(DAYS)}#{c.randint(1, 5)}"))
    return " ".join((random_field(chance, 0, 59, stars=0.2), random_field(chance, 0, 23, stars=0.3), month_day,
                     random_field(chance, 1, 12, MONTHS, stars=0.7), week_day))


# ---- The comparison.

def printed(expression, zone, begin, end):
    """What the program says is due from `begin` on and before `end`; None: it refuses the expression."""
    since = (begin - datetime.timedelta(seconds=1)).isoformat()
    count = int((end - begin) / MINUTE) + 1
    done = subprocess.run([PERENNIAL, "schedule", "next", expression, "--zone", zone, "--from", since, "--count",
                           str(count), "--json"], capture_output=True, text=True)
    if done.returncode == 2 and "no day of the calendar" in done.stderr:
        return None
    assert done.returncode == 0, (expression, done.stderr)
    times = []
    for each in json.loads(done.stdout)["times"]:
        at = datetime.datetime.fromisoformat(each["utc"].replace("Z", "+00:00"))
        if at >= end:
            break
        times.append(at)
    return times


def compare(zone, begin, end, expressions):
    rules = {each: Rule(each) for each in expressions}
    due = {each: [] for each in expressions}
    for at, local, gap in minutes_of(zoneinfo.ZoneInfo(zone), begin, end):
        for expression, rule in rules.items():
            if rule.is_due(local, gap):
                due[expression].append(at)
    for expression, wanted in due.items():
        got = printed(expression, zone, begin, end)
        if got is None:
            assert not wanted, f"{expression} in {zone} is refused, and due at {wanted[0]}"
        elif got != wanted:
            first = sorted(set(got) ^ set(wanted))[0]
            who = "only printed" if first in got else "not printed"
            sys.exit(f"{expression} in {zone}: {first.isoformat()} is {who}")
    return sum(map(len, due.values()))


def changes_of(zone, begin, end):
    """Around each change of the zone's clocks: a window that has it."""
    zone = zoneinfo.ZoneInfo(zone)
    day, step = begin, datetime.timedelta(days=1)
    while day < end:
        if day.astimezone(zone).utcoffset() != (day + step).astimezone(zone).utcoffset():
            yield day - step / 4, day + step * 5 / 4
        day += step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--years", type=float, default=0.1, help="gone through whole, of the twenty, in each zone")
    parser.add_argument("--changes", type=int, default=4, help="of its clocks, gone through in each zone")
    parser.add_argument("--expressions", type=int, default=12, help="in each window")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed} (run again with --seed {arguments.seed})", flush=True)
    chance = random.Random(arguments.seed)
    utc = datetime.timezone.utc
    begin, end = datetime.datetime(FIRST, 1, 1, tzinfo=utc), datetime.datetime(LAST, 1, 1, tzinfo=utc)
    windows = checked = 0
    for zone in ZONES:
        changes = list(changes_of(zone, begin, end))
        if arguments.years < LAST - FIRST:
            changes = chance.sample(changes, min(arguments.changes, len(changes)))
            length = datetime.timedelta(days=365.25 * arguments.years)
            since = begin + (end - begin - length) * chance.random()
            since = since.replace(second=0, microsecond=0)
            changes.append((since, since + length))
        else:
            changes = [(begin, end)]
        for first, last in changes:
            checked += compare(zone, first, last, [random_expression(chance) for _ in range(arguments.expressions)])
            windows += 1
    assert checked > 1000, checked
    print(f"{windows} windows in {len(ZONES)} zones, {checked} times that were due")


if __name__ == "__main__":
    main()
