// SPDX-License-Identifier: Apache-2.0
#include "root/root_classes.hpp"

#include <array>

namespace weir::monitor {
namespace {

enum class Type : std::int32_t {  // TVirtualStreamerInfo::EReadWrite
    base = 0,
    short_ = 2,
    int_ = 3,
    float_ = 5,
    count = 6,  // of the elements of an array
    double_ = 8,
    ushort_ = 12,
    uint_ = 13,
    bits = 15,
    bool_ = 18,
    array = 48,  // of doubles, behind a pointer
    object = 61,
    any = 62,
    pointer_here = 63,  // never null
    pointer = 64,
    string = 65,
    tobject = 66,
    tnamed = 67
};

struct RootMember {
    std::string_view name;
    Type type;
    std::string_view type_name;       // "BASE" of a base class
    std::uint32_t base_checksum = 0;  // of a base class, and
    std::int32_t base_version = 0;
    std::string_view comment = {};  // where it means something to a reader
};

struct RootClass {
    std::string_view name;
    std::uint32_t checksum;
    std::int32_t version;
    std::span<const RootMember> members;
};

constexpr std::uint32_t tobject_sum = 0x901bc02d, tnamed_sum = 0xdfb74a3c, att_line_sum = 0x94074549,
                        att_fill_sum = 0xffd92a92, att_marker_sum = 0x291d8bec, att_axis_sum = 0x5c6fff3e,
                        axis_sum = 0x5a496e70, collection_sum = 0x57e3cb9c, sequence_sum = 0xfc6c3bc6,
                        list_sum = 0x69c5c3bb, hash_list_sum = 0xcc7e49c1, array_sum = 0x7139ef34, th1_sum = 0x1c3740c4,
                        th1d_sum = 0xf9b1569f, th2_sum = 0x0182347f, th2d_sum = 0x7fba82f0;

constexpr RootMember of_tobject[]{{"fUniqueID", Type::uint_, "unsigned int"}, {"fBits", Type::bits, "unsigned int"}};
constexpr RootMember of_tnamed[]{{"TObject", Type::tobject, "BASE", tobject_sum, 1},
                                 {"fName", Type::string, "TString"},
                                 {"fTitle", Type::string, "TString"}};
constexpr RootMember of_att_line[]{{"fLineColor", Type::short_, "short"},
                                   {"fLineStyle", Type::short_, "short"},
                                   {"fLineWidth", Type::short_, "short"}};
constexpr RootMember of_att_fill[]{{"fFillColor", Type::short_, "short"}, {"fFillStyle", Type::short_, "short"}};
constexpr RootMember of_att_marker[]{{"fMarkerColor", Type::short_, "short"},
                                     {"fMarkerStyle", Type::short_, "short"},
                                     {"fMarkerSize", Type::float_, "float"}};
constexpr RootMember of_att_axis[]{{"fNdivisions", Type::int_, "int"},      {"fAxisColor", Type::short_, "short"},
                                   {"fLabelColor", Type::short_, "short"},  {"fLabelFont", Type::short_, "short"},
                                   {"fLabelOffset", Type::float_, "float"}, {"fLabelSize", Type::float_, "float"},
                                   {"fTickLength", Type::float_, "float"},  {"fTitleOffset", Type::float_, "float"},
                                   {"fTitleSize", Type::float_, "float"},   {"fTitleColor", Type::short_, "short"},
                                   {"fTitleFont", Type::short_, "short"}};
constexpr RootMember of_axis[]{{"TNamed", Type::tnamed, "BASE", tnamed_sum, 1},
                               {"TAttAxis", Type::base, "BASE", att_axis_sum, 4},
                               {"fNbins", Type::int_, "int"},
                               {"fXmin", Type::double_, "double"},
                               {"fXmax", Type::double_, "double"},
                               {"fXbins", Type::any, "TArrayD"},
                               {"fFirst", Type::int_, "int"},
                               {"fLast", Type::int_, "int"},
                               {"fBits2", Type::ushort_, "unsigned short"},
                               {"fTimeDisplay", Type::bool_, "bool"},
                               {"fTimeFormat", Type::string, "TString"},
                               {"fLabels", Type::pointer, "THashList*"},
                               {"fModLabs", Type::pointer, "TList*"}};
constexpr RootMember of_collection[]{{"TObject", Type::tobject, "BASE", tobject_sum, 1},
                                     {"fName", Type::string, "TString"},
                                     {"fSize", Type::int_, "int"}};
constexpr RootMember of_sequence[]{{"TCollection", Type::base, "BASE", collection_sum, 3}};
constexpr RootMember of_list[]{{"TSeqCollection", Type::base, "BASE", sequence_sum, 0}};
constexpr RootMember of_hash_list[]{{"TList", Type::base, "BASE", list_sum, 5}};
constexpr RootMember of_th1[]{
    {"TNamed", Type::tnamed, "BASE", tnamed_sum, 1},
    {"TAttLine", Type::base, "BASE", att_line_sum, 2},
    {"TAttFill", Type::base, "BASE", att_fill_sum, 2},
    {"TAttMarker", Type::base, "BASE", att_marker_sum, 2},
    {"fNcells", Type::int_, "int"},
    {"fXaxis", Type::object, "TAxis"},
    {"fYaxis", Type::object, "TAxis"},
    {"fZaxis", Type::object, "TAxis"},
    {"fBarOffset", Type::short_, "short"},
    {"fBarWidth", Type::short_, "short"},
    {"fEntries", Type::double_, "double"},
    {"fTsumw", Type::double_, "double"},
    {"fTsumw2", Type::double_, "double"},
    {"fTsumwx", Type::double_, "double"},
    {"fTsumwx2", Type::double_, "double"},
    {"fMaximum", Type::double_, "double"},
    {"fMinimum", Type::double_, "double"},
    {"fNormFactor", Type::double_, "double"},
    {"fContour", Type::any, "TArrayD"},
    {"fSumw2", Type::any, "TArrayD"},
    {"fOption", Type::string, "TString"},
    {"fFunctions", Type::pointer_here, "TList*", 0, 0, "->Pointer to list of functions (fits and user)"},
    {"fBufferSize", Type::count, "int"},
    {"fBuffer", Type::array, "double*", 0, 0, "[fBufferSize] entry buffer"},
    {"fBinStatErrOpt", Type::int_, "TH1::EBinErrorOpt"},
    {"fStatOverflows", Type::int_, "TH1::EStatOverflows"}};
constexpr RootMember of_th1d[]{{"TH1", Type::base, "BASE", th1_sum, 8}, {"TArrayD", Type::base, "BASE", array_sum, 1}};
constexpr RootMember of_th2[]{{"TH1", Type::base, "BASE", th1_sum, 8},
                              {"fScalefactor", Type::double_, "double"},
                              {"fTsumwy", Type::double_, "double"},
                              {"fTsumwy2", Type::double_, "double"},
                              {"fTsumwxy", Type::double_, "double"}};
constexpr RootMember of_th2d[]{{"TH2", Type::base, "BASE", th2_sum, 5}, {"TArrayD", Type::base, "BASE", array_sum, 1}};

constexpr std::array root_classes{
    RootClass{"TH1D", th1d_sum, 3, of_th1d},
    RootClass{"TH1", th1_sum, 8, of_th1},
    RootClass{"TH2D", th2d_sum, 4, of_th2d},
    RootClass{"TH2", th2_sum, 5, of_th2},
    RootClass{"TNamed", tnamed_sum, 1, of_tnamed},
    RootClass{"TObject", tobject_sum, 1, of_tobject},
    RootClass{"TAttLine", att_line_sum, 2, of_att_line},
    RootClass{"TAttFill", att_fill_sum, 2, of_att_fill},
    RootClass{"TAttMarker", att_marker_sum, 2, of_att_marker},
    RootClass{"TAxis", axis_sum, 10, of_axis},
    RootClass{"TAttAxis", att_axis_sum, 4, of_att_axis},
    RootClass{"TCollection", collection_sum, 3, of_collection},
    RootClass{"TSeqCollection", sequence_sum, 0, of_sequence},
    RootClass{"TList", list_sum, 5, of_list},
    RootClass{"THashList", hash_list_sum, 0, of_hash_list},
};

/// The class of ROOT that describes a member of this type, and its version.
struct DescribedBy {
    std::string_view name;
    std::uint16_t version;
};
DescribedBy described_by(const RootMember& member) {
    if (member.type_name == "BASE") return {"TStreamerBase", 3};
    switch (member.type) {
        case Type::string: return {"TStreamerString", 2};
        case Type::object: return {"TStreamerObject", 2};
        case Type::any: return {"TStreamerObjectAny", 2};
        case Type::pointer_here:
        case Type::pointer: return {"TStreamerObjectPointer", 2};
        case Type::array: return {"TStreamerBasicPointer", 2};
        default: return {"TStreamerBasicType", 2};
    }
}

/// In memory, as ROOT notes it.
std::uint32_t size_of(const RootMember& member) {
    switch (member.type) {
        case Type::short_:
        case Type::ushort_: return 2;
        case Type::int_:
        case Type::float_:
        case Type::count:
        case Type::uint_:
        case Type::bits: return 4;
        case Type::double_:
        case Type::array:
        case Type::pointer_here:
        case Type::pointer: return 8;
        case Type::bool_: return 1;
        case Type::object: return 216;
        case Type::any:
        case Type::string: return 24;
        default: return 0;
    }
}

void append_member(RootBytes& to, const RootMember& member) {
    const auto described = described_by(member);
    to.object(described.name, [&] {
        to.versioned(described.version, [&] {
            to.versioned(4, [&] {  // TStreamerElement
                to.tnamed(member.name, member.comment);
                to.number(static_cast<std::int32_t>(member.type));
                to.number(size_of(member));
                to.number(std::uint64_t{0});  // it is no array in the class: no length, no dimensions
                for (const auto bound : {0U, member.base_checksum, 0U, 0U, 0U}) to.number(bound);
                to.text(member.type_name);
            });
            if (member.type_name == "BASE") to.number(member.base_version);
            if (member.type != Type::array) return;
            to.number(std::int32_t{8});  // the version of the class with the count
            to.text("fBufferSize");
            to.text("TH1");
        });
    });
}

void append_class(RootBytes& to, const RootClass& described) {
    to.object("TStreamerInfo", [&] {
        to.versioned(9, [&] {
            to.tnamed(described.name, "", 0x03010000);
            to.number(described.checksum);
            to.number(described.version);
            to.object("TObjArray", [&] {
                to.versioned(3, [&] {
                    to.tobject();
                    to.text("");
                    to.number(static_cast<std::uint32_t>(described.members.size()));
                    to.number(std::uint32_t{0});
                    for (const auto& member : described.members) append_member(to, member);
                });
            });
        });
    });
}

}  // namespace

void append_root_classes(RootBytes& to) {
    to.versioned(5, [&] {  // TList
        to.tobject();
        to.text("");
        to.number(static_cast<std::uint32_t>(root_classes.size()));
        for (const auto& described : root_classes) {
            append_class(to, described);
            to.text("");  // an option
        }
    });
}

}  // namespace weir::monitor
