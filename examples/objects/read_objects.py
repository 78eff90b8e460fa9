#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads objects that weir streamed (object-wise), with uproot, without ROOT: pip install uproot

    curl -s http://127.0.0.1:41234/sample/object > event.object     # the control port of a builder or filter
    weir cat run.data --event 3 --results > found.object            # what level 2 found in an event
    read_objects.py event.object
    read_objects.py CLASSES.root BUFFER [CLASS]

Prints each object's members. The classes of weir's own objects are in the table CLASSES below; add yours, or name a
file CLASSES.root: any that ROOT wrote with objects of these classes in it, which has their descriptions. BUFFER holds
what weir::serial::Writer::write_any wrote, one object after the other; with CLASS it is what Writer::stream wrote,
which does not name its class. In your program:

    from read_objects import ObjectReader
    for event in ObjectReader().objects(open("event.object", "rb").read()):
        print(event.member("global_id"), len(event.member("fragments")))
"""
import math
import re
import sys

import numpy
import uproot
from uproot.deserialization import read_object_any
from uproot.interpretation.identify import parse_typename
from uproot.source.chunk import Chunk
from uproot.source.cursor import Cursor


# docs/formats/objects.md. A class without a version (no ClassDef) has version 0 here. Types are spelled as by ROOT:
# "vector<vector<int> >", "float[3]", "Long64_t". (uproot does not read maps of texts outside of trees.)
CLASSES = {
    ("weir::selection::Quantity", 1): {"name": "string", "value": "double"},
    ("weir::selection::Findings", 1): {"selection": "string", "quantities": "vector<weir::selection::Quantity>"},
    ("weir::SampledFragment", 1): {"source": "unsigned int", "words": "vector<unsigned int>"},
    ("weir::SampledEvent", 1): {
        "station": "string", "global_id": "unsigned long", "run": "unsigned int", "level1_id": "unsigned int",
        "lumi_block": "unsigned int", "seconds": "unsigned int", "nanoseconds": "unsigned int",
        "stream_tags": "vector<string>", "level1_words": "vector<unsigned int>", "level2_words": "vector<unsigned int>",
        "filter_words": "vector<unsigned int>", "fragments": "vector<weir::SampledFragment>"},
    ("weir::NamedNumber", 1): {"name": "string", "value": "double"},
    ("weir::StationSnapshot", 1): {
        "station": "string", "kind": "string", "state": "string", "time": "double", "run": "long",
        "received": "unsigned long", "stored": "unsigned long", "in_hand": "unsigned long",
        "rejected": "vector<weir::NamedNumber>", "counters": "vector<weir::NamedNumber>", "alarms": "vector<string>"},
}

NUMBERS = {"char": 1, "short": 2, "int": 3, "long": 4, "float": 5, "double": 8, "unsigned char": 11,
           "unsigned short": 12, "unsigned int": 13, "unsigned long": 14, "Long64_t": 16, "ULong64_t": 17,
           "bool": 18}  # ROOT's codes of types


class ClassTable(uproot.reading.ReadOnlyFile):
    """Stands where uproot has a ROOT file: knows the classes of a table, holds no data."""

    def __init__(self, classes):
        self._file_path, self._custom_classes, self._streamers = "(a table of classes)", {}, {}
        for (name, version), members in classes.items():
            info = uproot.streamers.Model_TStreamerInfo.empty()
            info._members = {"fName": name, "fClassVersion": version,
                             "fElements": [self._element(*member) for member in members.items()]}
            self._streamers.setdefault(uproot.model.classname_regularize(name), {})[version] = info

    @staticmethod
    def _element(name, kind):
        kind, *bounds = re.findall(r"[^\[\]]+", kind)  # "float[3]"
        if kind in NUMBERS:
            element = uproot.streamers.Model_TStreamerBasicType.empty()
        elif kind == "string" or "<" in kind:
            element = uproot.streamers.Model_TStreamerSTL.empty()
        else:
            element = uproot.streamers.Model_TStreamerObjectAny.empty()
        element._members = {"fName": name, "fTypeName": kind, "fType": NUMBERS.get(kind, 0),
                            "fArrayLength": math.prod(map(int, bounds)) if bounds else 0}
        return element

    uuid = property(lambda self: None)
    streamers = property(lambda self: self._streamers)
    source = detached = property(lambda self: self)


class ObjectReader:
    """Reads objects out of bytes, with the descriptions of classes in a table or a ROOT file."""

    def __init__(self, classes=None):
        """`classes`: a table like CLASSES, which is taken when there is none, or the path of a ROOT file."""
        if classes is None or isinstance(classes, dict):
            self.file = ClassTable(classes or CLASSES)
        else:
            self.file = uproot.open(classes).file

    def objects(self, data, class_name=None):
        """All objects in `data`, one after the other."""
        chunk = Chunk.wrap(self.file.source, numpy.frombuffer(data, numpy.uint8))
        cursor = Cursor(0)
        while cursor.index < len(data):
            yield self.next_object(chunk, cursor, class_name)

    def next_object(self, chunk, cursor, class_name):
        context = {"in_TBranch": True, "reading": True}  # without the first it does not step over class checksums
        if class_name is None:
            return read_object_any(chunk, cursor, context, self.file, self.file.detached, None)
        if "<" in class_name or class_name == "string":  # vector<Thing>: nothing stands before the number of elements
            model = parse_typename(class_name, file=self.file, outer_header=False, inner_header=False,
                                   string_header=False)
        else:
            model = self.file.class_named(class_name)
        return model.read(chunk, cursor, context, self.file, self.file.detached, None)


def plain(value):
    """What is in an object as dictionaries, lists, numbers and texts."""
    if isinstance(value, uproot.Model):
        parts = {}
        for base in value.bases:
            parts.update(plain(base))
        parts.update((name, plain(member)) for name, member in value.members.items())
        return parts
    if isinstance(value, uproot.containers.STLMap):
        return [[plain(key), plain(member)] for key, member in value.items()]
    if isinstance(value, (uproot.containers.Container, numpy.ndarray, list, tuple)):
        return [plain(element) for element in value]
    return value.item() if isinstance(value, numpy.generic) else value


def main():
    words = sys.argv[1:]
    classes = words.pop(0) if words and words[0].endswith(".root") else None
    if len(words) not in (1, 2):
        sys.exit(__doc__)
    with open(words[0], "rb") as buffer:
        data = buffer.read()
    for value in ObjectReader(classes).objects(data, words[1] if len(words) == 2 else None):
        print(plain(value))


if __name__ == "__main__":
    main()
