"""One case: a file, and what the document says about it."""

import re


class Case:
    """A file of the corpus with what is expected of whoever reads it."""

    def __init__(self, document, section, sentence, name, about, data, ext, **expected):
        slug = re.sub(r"[^a-z0-9.]+", "-", section.lower()).strip("-")
        self.name = f"{slug}-{sentence:02}-{name}.{ext}"
        self.document = document
        self.data = data
        self.beside = expected.pop("beside", {})
        places = expected.pop("where", None)
        conforms = expected.pop("conforms", places is None)
        said = {"file": self.name, "document": document, "section": section, "sentence": sentence, "about": about}
        said["conforms"] = conforms
        if places is not None:
            # A sentence for readers is tried with a file that departs from another one.
            other, number = expected.pop("deviates", (section, sentence))
            one = {"section": other, "sentence": number, "where": places}
            said["deviations"] = [one, *expected.pop("also", [])]
        if self.beside:
            said["beside"] = sorted(self.beside)
        for key in ("tree", "arrays"):
            if key in expected:
                said[key] = expected.pop(key)
        assert not expected, expected
        self.said = said
