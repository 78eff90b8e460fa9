// SPDX-License-Identifier: Apache-2.0
// Several objects in one buffer, drawn from a seed: new ones, ones already written, null pointers, by WriteObjectAny
// and by StreamObject in turn. It is what makes references to classes and to objects, between the calls and inside of
// them.
#pragma once

#include "root_values.hpp"

struct Operation {
    enum Kind { any_new, any_again, any_null, stream };
    int type = 0;
    Kind kind = any_new;
    std::size_t again = 0;  // the earlier operation whose object is meant
};

template <class Visitor>
void with_sequence_type(int type, Visitor&& visit) {
    switch (type) {
        case 0: return visit(OfType<Thing>{}, "Thing");
        case 1: return visit(OfType<ThingV>{}, "ThingV");
        case 2: return visit(OfType<detector::Node>{}, "detector::Node");
        case 3: return visit(OfType<detector::Pointers>{}, "detector::Pointers");
        case 4: return visit(OfType<detector::Track>{}, "detector::Track");
        default: return visit(OfType<std::vector<Thing>>{}, "vector<Thing>");
    }
}

/// Operations, and the objects that they are about, in the same order; null where the operation writes null.
class Sequence {
public:
    explicit Sequence(std::uint64_t seed) : maker_(seed) {
        Draw draw(seed + 1);
        for (std::size_t count = 1 + draw.below(8); count > 0; --count) {
            Operation next{static_cast<int>(draw.below(6)), static_cast<Operation::Kind>(draw.below(4)), 0};
            if (next.kind == Operation::any_again && !find(draw, next)) next.kind = Operation::any_new;
            operations.push_back(next);
            objects.push_back(next.kind == Operation::any_again  ? objects[next.again]
                              : next.kind == Operation::any_null ? nullptr
                                                                 : make(next.type));
        }
    }

    /// The values of such objects, `objects` or those that were read in their place.
    [[nodiscard]] std::string text(const std::vector<void*>& values) const {
        ValueText text;
        for (std::size_t i = 0; i < values.size(); ++i) {
            with_sequence_type(operations[i].type, [&](auto type, const char*) {
                using T = typename decltype(type)::type;
                if (operations[i].kind == Operation::stream) text.append(*static_cast<T*>(values[i]));
                else text.append(static_cast<T*>(values[i]));
            });
        }
        return text.text();
    }

    std::vector<Operation> operations{};
    std::vector<void*> objects{};

private:
    bool find(Draw& draw, Operation& next) {
        std::vector<std::size_t> same;
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const Operation& earlier = operations[i];
            if (earlier.type == next.type && earlier.kind == Operation::any_new) same.push_back(i);
        }
        if (same.empty()) return false;
        next.again = same[draw.below(same.size())];
        return true;
    }
    void* make(int type) {
        with_sequence_type(type, [this](auto what, const char*) {
            using T = typename decltype(what)::type;
            auto made = std::make_shared<T>();
            maker_.fill(*made);
            owned_.push_back(std::move(made));
        });
        return owned_.back().get();
    }

    ValueMaker maker_;
    std::vector<std::shared_ptr<void>> owned_{};
};
