// SPDX-License-Identifier: Apache-2.0
// Bytes to values, by their types: the mirror of the encoder. Every count and length in the bytes is checked
// against the bytes that are there before it is used. Each function returns the place behind what it read, or null
// after an error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/serial/evolution.hpp"
#include "weir/serial/flat.hpp"
#include "weir/serial/framing.hpp"
#include "weir/serial/input.hpp"

namespace weir::serial {

class Decoder {
public:
    explicit Decoder(Input& in) noexcept : in_(in) {}

    template <class T>
    const std::byte* value(const std::byte* at, T& value) {
        require_streamable<T>();
        if constexpr (Scalar<T>) {
            return scalar(at, value);
        } else if constexpr (Text<T>) {
            return text(at, value);
        } else if constexpr (Pointer<T>) {
            static_assert(Object<typename T::element_type>, "weir::serial: pointers lead to described classes only");
            return pointer(at, value);
        } else if constexpr (Object<T>) {
            return object(at, value);
        } else if constexpr (Map<T>) {
            return pairs(at, value);
        } else {
            return elements(at, value);
        }
    }

    /// An object that WriteObjectAny wrote.
    template <Pointer P>
    const std::byte* pointer(const std::byte* at, P& to) {
        using T = typename P::element_type;
        require_exact_class<T>();
        to.reset();
        if (!in_.has(at, 4)) return in_.too_short(at, "a pointer", 4);
        const auto word = load<std::uint32_t>(at);
        if (word == 0) return at + 4;
        if (word < byte_count_flag) return refer(at, word, to);
        const std::byte* outer = nullptr;
        const auto* start = at;
        const auto offset = in_.offset(at) + reference_offset;
        if (in_.depth == pointer_depth_max)
            return in_.fail(at, Errc::limit, class_name<T>, "pointers lead deeper than 256 objects");
        at = in_.open_frame(at, "a pointer", outer);
        if (at == nullptr) return nullptr;
        std::string_view name;
        const auto* after = in_.read_class(at, name);
        if (after == nullptr) return nullptr;
        if (name != class_name<T>) {
            if (!in_.skips_unknown())
                return in_.fail(start, Errc::unsupported, class_name<T>,
                                name.empty() ? "here is an object of a class that was passed over"
                                             : "here is an object of another class, " + quoted(name));
            ++in_.skipped;
            in_.add_object({offset});
            return in_.close_frame(in_.end(), class_name<T>, outer);
        }
        auto made = make(to, offset);
        const auto beside = std::exchange(in_.height, 0);
        ++in_.depth;
        at = value(after, *made);
        --in_.depth;
        in_.set_height(offset, ++in_.height);
        in_.height = std::max(in_.height, beside);
        return in_.close_frame(at, class_name<T>, outer);
    }

private:
    template <class T>
    T* make(std::unique_ptr<T>& to, std::uint32_t offset) {
        to = std::make_unique<T>();
        in_.add_object({offset, class_name<T>.data()});
        return to.get();
    }
    template <class T>
    T* make(std::shared_ptr<T>& to, std::uint32_t offset) {
        to = std::make_shared<T>();
        in_.add_object({offset, class_name<T>.data(), to, [](void* object) { *static_cast<T*>(object) = T{}; }});
        return to.get();
    }

    template <class P>
    const std::byte* refer(const std::byte* at, std::uint32_t reference, P& to) {
        using T = typename P::element_type;
        const auto* known = in_.find_object(reference);
        if (known == nullptr)
            return in_.fail(at, Errc::corrupt, class_name<T>, "a reference to a place where no object began");
        if (known->class_name == nullptr) {
            ++in_.skipped;
            return at + 4;
        }
        if (known->class_name != class_name<T>.data())
            return in_.fail(at, Errc::corrupt, class_name<T>,
                            std::string("a reference to an object of class ") + known->class_name);
        if constexpr (requires { to = std::static_pointer_cast<T>(known->owner); }) {
            if (known->owner != nullptr) {
                // Freeing a chain recurses through all of it.
                if (in_.depth + known->height > pointer_depth_max)
                    return in_.fail(at, Errc::limit, class_name<T>, "pointers lead deeper than 256 objects");
                in_.height = std::max(in_.height, known->height);
                to = std::static_pointer_cast<T>(known->owner);
                return at + 4;
            }
        }
        return in_.fail(at, Errc::unsupported, class_name<T>,
                        "a second pointer to an object that a std::unique_ptr owns: make both std::shared_ptr");
    }

    template <Scalar T>
    const std::byte* scalar(const std::byte* at, T& value) {
        if (!in_.has(at, fixed_wire_size<T>())) return in_.too_short(at, class_name<T>, fixed_wire_size<T>());
        if constexpr (std::is_same_v<T, bool>) {
            const auto byte = load<std::uint8_t>(at);
            if (byte > 1) return in_.fail(at, Errc::corrupt, "bool", "a byte that is neither 0 nor 1");
            value = byte == 1;
        } else if constexpr (std::is_enum_v<T>) {
            using U = std::underlying_type_t<T>;
            const auto number = static_cast<std::int32_t>(load<std::uint32_t>(at));
            if (sizeof(U) < 4 && (number < static_cast<std::int64_t>(std::numeric_limits<U>::min()) ||
                                  number > static_cast<std::int64_t>(std::numeric_limits<U>::max())))
                return in_.fail(at, Errc::corrupt, class_name<T>, "a number that this enum cannot hold");
            value = static_cast<T>(static_cast<U>(number));
        } else if constexpr (sizeof(T) == 1) {
            value = static_cast<T>(load<std::uint8_t>(at));
        } else if constexpr (sizeof(T) == 2) {
            value = std::bit_cast<T>(load<std::uint16_t>(at));
        } else if constexpr (sizeof(T) == 4) {
            value = std::bit_cast<T>(load<std::uint32_t>(at));
        } else {
            value = std::bit_cast<T>(load<std::uint64_t>(at));
        }
        return at + fixed_wire_size<T>();
    }

    /// Reads the version of an object of class T, and its checksum when it has one.
    template <Object T>
    const std::byte* version_of(const std::byte* at, Found& found) {
        const auto* start = at;
        if (!in_.has(at, 2)) return in_.too_short(at, class_name<T>, 2);
        const std::uint32_t version = load<std::uint16_t>(at);
        std::uint32_t checksum = 0;
        at += 2;
        if (version == 0 && !in_.has(at, 4)) {  // too small for a checksum: there is no sign of another class
            found = {Parts<T>::version == 0 ? Found::Is::ours : Found::Is::unknown};
        } else {
            if (version == 0) {
                checksum = load<std::uint32_t>(at);
                at += 4;
            }
            found = recognise<T>(version, checksum, in_.other_versions());
        }
        if (found.is == Found::Is::ours) [[likely]]
            return at;
        if (found.is != Found::Is::unknown) {
            ++in_.evolved;
        } else if (in_.skips_unknown()) {
            ++in_.skipped;
        } else {
            constexpr auto ours = static_cast<std::uint32_t>(Parts<T>::version);
            if constexpr (ours == 0)
                return in_.unknown_checksum(start, class_name<T>, version, checksum, class_checksum<T>());
            else return in_.unknown_version(start, class_name<T>, version, ours);
        }
        return at;
    }

    template <Object T>
    const std::byte* object(const std::byte* at, T& object) {
        const std::byte* outer = nullptr;
        at = in_.open_frame(at, class_name<T>, outer);
        if (at == nullptr) return nullptr;
        Found found;
        at = version_of<T>(at, found);
        if (at == nullptr) return nullptr;
        if (found.is == Found::Is::ours) [[likely]]
            Parts<T>::each(object, [&](auto& part) { return (at = member(at, part)) != nullptr; });
        else at = other_shape(at, object, found);
        return in_.close_frame(at, class_name<T>, outer);
    }

    /// The parts of an object of another shape than ours, up to the end of the byte count where that is allowed.
    template <Object T>
    [[gnu::noinline]] const std::byte* other_shape(const std::byte* at, T& object, const Found& found) {
        if (found.is == Found::Is::another) {
            find_older_class<T>(static_cast<std::uint32_t>(found.number), [&](const auto& older) {
                typename std::remove_cvref_t<decltype(older)>::Class old{};
                using Old = decltype(old);
                Parts<Old>::each(old, [&](auto& part) { return (at = member(at, part)) != nullptr; });
                if (at != nullptr) object = older.convert(std::move(old));
            });
            return at;
        }
        object = T{};
        std::size_t index = 0;
        Parts<T>::each(object, [&](auto& part) {
            const auto& facts = Parts<T>::facts[index];
            if (found.has(index++, facts, in_.left(at))) at = member(at, part);
            return at != nullptr;
        });
        return at == nullptr || !reaches_to_end(found) ? at : in_.end();
    }
    /// Whether bytes behind the parts that were read are passed over.
    static bool reaches_to_end(const Found& found) noexcept {
        return found.is == Found::Is::in_order || found.is == Found::Is::unknown;
    }

    template <class T, class Get>
    static const std::byte* each_leaf(const std::byte* at, T& value, const Get& get) {
        if constexpr (Array<T>) {
            for (auto& element : value)
                if (at = each_leaf(at, element, get); at == nullptr) return nullptr;
            return at;
        } else {
            return get(at, value);
        }
    }

    template <class T>
    const std::byte* member(const std::byte* at, T& value) {
        if constexpr (Framed<T>) {
            return framed<Leaf<T>>(at, ArrayLeaf<T>::count, [&](const std::byte* place, const auto& contents) {
                return each_leaf(place, value, contents);
            });
        } else {
            return bare_member(at, value);
        }
    }

    /// A member that has no header but its own.
    template <class T>
    const std::byte* bare_member(const std::byte* at, T& value) {
        if constexpr (Array<T> && Flat<Leaf<T>> && ArrayLeaf<T>::count >= 16) {
            constexpr auto count = ArrayLeaf<T>::count;
            if (in_.has(at, fixed_wire_size<T>()) &&
                read_records(element_plan<Leaf<T>>(), at, count, reinterpret_cast<std::byte*>(&value)) == count)
                return at + fixed_wire_size<T>();
        }
        return each_leaf(at, value, [&](const std::byte* place, auto& leaf) { return this->value(place, leaf); });
    }

    /// The header of `members` members whose contents are of type C, then `all(place, contents)`, `contents` being what
    /// reads one.
    template <class C, class All>
    const std::byte* framed(const std::byte* at, std::size_t members, const All& all) {
        const std::byte* outer = nullptr;
        const auto* start = at;
        at = in_.open_frame(at, class_name<C>, outer);
        if (at == nullptr) return nullptr;
        if (!in_.has(at, 2)) return in_.too_short(at, class_name<C>, 2);
        const auto version = load<std::uint16_t>(at);
        at += 2;
        if ((version & member_wise_flag) == 0) {
            at = all(at, [&](const std::byte* place, C& one) { return value(place, one); });
        } else if constexpr (in_columns<C>) {
            Found found;
            at = version_of<Element<C>>(at, found);
            if (at == nullptr || !columns_are_certain<Element<C>>(start, members, found)) return nullptr;
            const bool unknown = found.is == Found::Is::unknown;
            at = all(at, [&](const std::byte* place, C& one) {
                if (!unknown) return columns(place, one, found);
                one.clear();
                return place;
            });
            if (at != nullptr && reaches_to_end(found)) at = in_.end();
        } else {
            return in_.fail(start, Errc::corrupt, class_name<C>, "it is marked as member-wise, which it cannot be");
        }
        return in_.close_frame(at, class_name<C>, outer);
    }

    /// The header of columns names the version of the class and none of its bases; and columns of which only the order
    /// is known go on to the end of the byte count: with several collections in one count, the start of the second
    /// is not known.
    template <Object E>
    bool columns_are_certain(const std::byte* header, std::size_t members, Found& found) {
        const char* why = nullptr;
        if (found.is == Found::Is::in_order && members > 1)
            why =
                "another version of the class, in columns of several collections under one byte count: how many "
                "columns each has is not known; Unknown::skip passes over them";
        else if (found.is == Found::Is::older && !bases_never_changed<E>())
            why =
                "another version of the class, in columns, where the version of its base is not stated; "
                "Unknown::skip passes over them";
        if (why == nullptr) return true;
        if (!in_.skips_unknown()) {
            in_.fail(header, Errc::unsupported, class_name<E>, why);
            return false;
        }
        found = {Found::Is::unknown};
        --in_.evolved;
        ++in_.skipped;
        return true;
    }
    template <Object E>
    static consteval bool bases_never_changed() {
        return each_part_type<E>([]<class Part, bool base>(PartType<Part, base>) {
            if constexpr (base)
                return !has_members<Part>() || (Parts<Part>::version == 1 && bases_never_changed<Part>());
            else return true;
        });
    }

    const std::byte* text(const std::byte* at, std::string& text) {
        if (!in_.has(at, 1)) return in_.too_short(at, "string", 1);
        std::size_t size = load<std::uint8_t>(at++);
        if (size == 255) {
            if (!in_.has(at, 4)) return in_.too_short(at, "string", 4);
            size = load<std::uint32_t>(at);
            at += 4;
        }
        if (!in_.has(at, size)) return in_.too_short(at, "string", size);
        text.assign(reinterpret_cast<const char*>(at), size);
        return at + size;
    }

    /// A count of things that take `least` bytes each, or more.
    const std::byte* count(const std::byte* at, std::string_view what, std::size_t least, std::size_t& count) {
        if (!in_.has(at, 4)) return in_.too_short(at, what, 4);
        count = load<std::uint32_t>(at);
        if (count > in_.left(at + 4) / least) return in_.too_many(at, what, count);
        return at + 4;
    }

    template <class E>
    const std::byte* elements(const std::byte* at, std::vector<E>& all) {
        std::size_t size = 0, done = 0;
        if constexpr (Flat<E> && !std::is_same_v<E, bool>) {
            if (in_.has(at, 4)) [[likely]] {
                constexpr auto each = element_wire_size<E>();
                size = load<std::uint32_t>(at);
                if (size > 0 && size * each <= in_.left(at + 4)) [[likely]] {
                    if (all.size() != size) all.resize(size);
                    done = read_records(element_plan<E>(), at + 4, size, reinterpret_cast<std::byte*>(all.data()));
                    if (done == size) [[likely]]
                        return at + 4 + size * each;
                }
            }
        }
        return elements_one_by_one(at, all, done);
    }

    /// From `at`, where the count stands; the first `done` are read.
    template <class E>
    [[gnu::noinline]] const std::byte* elements_one_by_one(const std::byte* at, std::vector<E>& all, std::size_t done) {
        std::size_t size = 0;
        at = count(at, class_name<std::vector<E>>, least_wire_size<E>(), size);
        if (at == nullptr) return nullptr;
        if (size == 0) {
            all.clear();
            return at;
        } else if constexpr (std::is_same_v<E, bool>) {
            all.resize(size);
            for (std::size_t i = 0; i < size; ++i) {
                bool one = false;
                if (at = scalar(at, one); at == nullptr) return nullptr;
                all[i] = one;
            }
            return at;
        } else {
            at += done * element_wire_size<E>();
            if (size < all.size()) all.resize(size);
            all.reserve(std::min(size, in_.left(at) / sizeof(E)));  // more only as bytes turn out to be elements
            for (; done < size; ++done) {
                if (done == all.size()) all.emplace_back();
                if (at = value(at, all[done]); at == nullptr) return nullptr;
            }
            return at;
        }
    }

    template <class K, class V>
    const std::byte* pairs(const std::byte* at, std::map<K, V>& all) {
        std::size_t size = 0;
        all.clear();
        at = count(at, class_name<std::map<K, V>>, least_wire_size<K>() + least_wire_size<V>(), size);
        for (; at != nullptr && size > 0; --size) {
            std::pair<K, V> one{};
            const auto* start = at;
            at = value(at, one.first);
            if (at != nullptr) at = value(at, one.second);
            if (at != nullptr && insert(start, all, one) == nullptr) return nullptr;
        }
        return at;
    }

    template <class K, class V>
    const std::byte* insert(const std::byte* at, std::map<K, V>& all, std::pair<K, V>& one) {
        const auto size = all.size();
        all.emplace_hint(all.end(), std::move(one));
        return all.size() > size ? at : in_.fail(at, Errc::corrupt, class_name<std::map<K, V>>, "the same key twice");
    }

    template <class K, class V>
    const std::byte* columns(const std::byte* at, std::map<K, V>& all, const Found& found) {
        std::vector<std::pair<K, V>> pairs;
        const auto* start = at;
        all.clear();
        at = columns(at, pairs, found);
        for (auto& pair : pairs)
            if (at == nullptr || insert(start, all, pair) == nullptr) return nullptr;
        return at;
    }

    template <class E>
    const std::byte* columns(const std::byte* at, std::vector<E>& all, const Found& found) {
        if (found.is == Found::Is::another) return older_columns(at, all, found);
        std::size_t size = 0;
        // Elements that may have no bytes at all (an empty base comes first) are no more than there are bytes.
        const std::size_t least = least_columns_size<E>(found);
        at = count(at, class_name<std::vector<E>>, least == 0 ? 1 : least, size);
        if (at == nullptr) return nullptr;
        all.resize(size);
        if (found.is != Found::Is::ours)
            for (auto& each : all) each = E{};
        const auto* plan = column_plans<E>().data();
        return size == 0 ? at : columns_of<E>(at, all, found, 0, plan);
    }

    template <class E>
    const std::byte* older_columns(const std::byte* at, std::vector<E>& all, const Found& found) {
        find_older_class<E>(static_cast<std::uint32_t>(found.number), [&](const auto& older) {
            std::vector<typename std::remove_cvref_t<decltype(older)>::Class> old;
            at = columns(at, old, Found{});
            all.clear();
            if (at == nullptr) return;
            all.reserve(old.size());
            for (auto& each : old) all.push_back(older.convert(std::move(each)));
        });
        return at;
    }

    /// The bytes that one element takes at least: where only the order is known, only the first column is certain.
    template <class E>
    static constexpr std::size_t least_columns_size(const Found& found) {
        std::size_t size = 0, index = 0;
        each_part_type<E>([&]<class Part, bool base>(PartType<Part, base>) {
            const auto& facts = Parts<E>::facts[index];
            if (!found.has(index++, facts, 1)) return true;
            if constexpr (base) size += least_columns_size<Part>(found.is == Found::Is::in_order ? found : Found{});
            else size += ArrayLeaf<Part>::count * least_wire_size<Leaf<Part>>();
            return found.is != Found::Is::in_order;
        });
        return size;
    }

    /// The columns of P, which is E or a base that lies at `offset` of it. `plan` goes along.
    template <class P, class E>
    const std::byte* columns_of(const std::byte* at, std::vector<E>& all, const Found& found, std::size_t offset,
                                const RecordPlan* const*& plan) {
        std::size_t index = 0;
        each_part_type<P>([&]<class Part, bool base>(PartType<Part, base>) {
            const auto place = offset + part_offsets<P>()[index];
            const bool there = found.has(index, Parts<P>::facts[index], in_.left(at));
            ++index;
            if constexpr (base) {
                if (there) at = columns_of<Part>(at, all, Found{}, place, plan);
                else plan += count_columns<Part>();
            } else {
                if (there) at = column<Part>(at, all, place, *plan);
                ++plan;
            }
            return at != nullptr;
        });
        return at;
    }

    /// `plan` is that of a flat column, else null.
    template <class Part, class E>
    const std::byte* column(const std::byte* at, std::vector<E>& all, std::size_t offset, const RecordPlan* plan) {
        if constexpr (Framed<Part>) {
            const auto members = all.size() * ArrayLeaf<Part>::count;
            return framed<Leaf<Part>>(at, members, [&](const std::byte* place, const auto& contents) {
                for (auto& each : all)
                    if (place = each_leaf(place, part_at<Part>(each, offset), contents); place == nullptr) return place;
                return place;
            });
        } else {
            std::size_t done = 0;
            if constexpr (Flat<Part>)
                if (all.size() <= in_.left(at) / fixed_wire_size<Part>()) {
                    done = read_records(*plan, at, all.size(), reinterpret_cast<std::byte*>(all.data()));
                    at += done * fixed_wire_size<Part>();
                }
            for (; done < all.size(); ++done)
                if (at = bare_member(at, part_at<Part>(all[done], offset)); at == nullptr) return nullptr;
            return at;
        }
    }

    Input& in_;
};

}  // namespace weir::serial
