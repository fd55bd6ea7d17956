"""The verdicts of legality.txt, from a legality matrix of libtpu: `python legality.py MATRIX.csv.gz > legality.txt`.

The matrix has a line for each kernel and chip: group, op, type, shape, extra, chip, verdict, reason. Here is a line for each
set of kernels with equal verdicts, without the reasons:

    # GROUP<tab>OP                     the kernels below are of this operation
    VERDICTS:TYPE,TYPE VERDICTS:TYPE   the verdicts by element type of the lines below
    <tab>SHAPE;SHAPE<tab>EXTRA | EXTRA  each shape with each extra

VERDICTS are five letters, of v4, v5e, v5p, v6e and tpu7x: a accepted, r refused, p not parsed, c the compiler died, - not tried.
"""

import collections, csv, gzip, sys

CHIPS = ["v4", "v5e", "v5p", "v6e", "tpu7x"]
LETTERS = {"accept": "a", "refuse": "r", "parse": "p", "crash": "c", "timeout": "t"}

kernels = collections.defaultdict(lambda: ["-"] * len(CHIPS))
with gzip.open(sys.argv[1], "rt", newline="") as file:
    for row in csv.DictReader(file):
        key = (row["group"], row["op"], row["shape"], row["extra"], row["type"])
        kernels[key][CHIPS.index(row["chip"])] = LETTERS[row["verdict"]]

operations = collections.defaultdict(lambda: collections.defaultdict(dict))
for (group, op, shape, extra, dtype), verdicts in kernels.items():
    operations[group, op][shape, extra][dtype] = "".join(verdicts)

for (group, op), cases in sorted(operations.items()):
    print(f"# {group}\t{op}")
    patterns = collections.defaultdict(lambda: collections.defaultdict(list))
    for (shape, extra), by_type in cases.items():
        types = collections.defaultdict(list)
        for dtype, verdicts in by_type.items():
            types[verdicts].append(dtype)
        pattern = " ".join(f"{verdicts}:{','.join(sorted(names))}" for verdicts, names in sorted(types.items()))
        patterns[pattern][extra].append(shape)
    for pattern, extras in sorted(patterns.items()):
        print(pattern)
        lines = collections.defaultdict(list)
        for extra, shapes in extras.items():
            lines["\v".join(sorted(shapes))].append(extra)
        for shapes, names in sorted(lines.items()):
            print("\t" + ";".join(shapes.split("\v")) + "\t" + " | ".join(sorted(names)))
