// Trilith for C++17: the C interface of trilith.h with handles that free themselves and errors that are thrown.
#ifndef TRILITH_HPP
#define TRILITH_HPP

#include <complex>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trilith.h"

namespace trilith {

// An error of a call. what() has the reason, the place and advice.
class error : public std::runtime_error {
public:
    explicit error(trilith_error *made)
        : std::runtime_error(trilith_error_message(made)), status_(trilith_error_status(made)) {
        trilith_error_free(made);
    }
    // TRILITH_IO, TRILITH_MALFORMED and so on.
    int status() const noexcept { return status_; }

private:
    int status_;
};

namespace detail {

// Makes a call whose last argument is the error, and throws the error.
template <class F, class... A> void call(F function, A... arguments) {
    trilith_error *failed = nullptr;
    if (function(arguments..., &failed) != TRILITH_OK) throw error(failed);
}

template <class T, void (*Free)(T *)> struct freer {
    void operator()(T *handle) const noexcept { Free(handle); }
};
template <class T, void (*Free)(T *)> using handle = std::unique_ptr<T, freer<T, Free>>;

// Makes a call that returns a handle.
template <class T, class F, class... A> T *made(F function, A... arguments) {
    T *out = nullptr;
    call(function, arguments..., &out);
    return out;
}

template <class F, class... A> std::string text(F function, A... arguments) {
    std::unique_ptr<char, freer<char, trilith_string_free>> out(made<char>(function, arguments...));
    return out ? std::string(out.get()) : std::string();
}

template <class T> constexpr std::int32_t datatype() {
    if constexpr (std::is_same_v<T, bool>) return TRILITH_BOOL8;
    else if constexpr (std::is_same_v<T, float>) return TRILITH_FLOAT32;
    else if constexpr (std::is_same_v<T, double>) return TRILITH_FLOAT64;
    else if constexpr (std::is_same_v<T, std::complex<float>>) return TRILITH_COMPLEX64;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return TRILITH_COMPLEX128;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return sizeof(T) == 1 ? TRILITH_INT8 : sizeof(T) == 2 ? TRILITH_INT16 : sizeof(T) == 4 ? TRILITH_INT32 : TRILITH_INT64;
    else if constexpr (std::is_integral_v<T>)
        return sizeof(T) == 1 ? TRILITH_UINT8 : sizeof(T) == 2 ? TRILITH_UINT16 : sizeof(T) == 4 ? TRILITH_UINT32 : TRILITH_UINT64;
    else static_assert(sizeof(T) == 0, "no array has elements of this type");
}

} // namespace detail

// Memory of the caller: a pointer and the number of elements.
template <class T> class view {
public:
    view(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = decltype(std::declval<C &>().data())>
    view(C &container) noexcept : data_(container.data()), size_(container.size()) {}
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t at) const noexcept { return data_[at]; }

private:
    T *data_;
    std::size_t size_;
};

// A part of an axis, as in Python: negative numbers count from the end.
struct range {
    std::int64_t start = TRILITH_END, stop = TRILITH_END, step = 1;
};

// An array of a file, or a part of one. Its elements are read by read().
class array {
public:
    explicit array(trilith_array *made) : held_(made) {}
    std::vector<std::uint64_t> shape() const {
        const auto *first = trilith_array_shape(get());
        return {first, first + trilith_array_ndim(get())};
    }
    std::uint64_t size() const { return trilith_array_len(get()); }
    std::string datatype() const { return trilith_array_datatype_name(get()); }
    bool is_masked() const { return trilith_array_is_masked(get()) != 0; }
    array field(const std::string &name) const {
        return array(detail::made<trilith_array>(trilith_array_field, get(), name.c_str()));
    }
    array slice(const std::vector<range> &ranges) const {
        std::vector<std::int64_t> start, stop, step;
        for (const auto &part : ranges) start.push_back(part.start), stop.push_back(part.stop), step.push_back(part.step);
        return array(detail::made<trilith_array>(trilith_array_slice, get(), ranges.size(), start.data(), stop.data(), step.data()));
    }
    // All elements in C order, converted where they are of another type.
    template <class T> std::vector<T> read() const {
        std::vector<T> elements(size());
        read_into(view<T>(elements));
        return elements;
    }
    template <class T> void read_into(view<T> memory) const {
        detail::call(trilith_array_read, get(), detail::datatype<T>(), static_cast<void *>(memory.data()), memory.size() * sizeof(T),
                     static_cast<const std::int64_t *>(nullptr), static_cast<trilith_progress>(nullptr), static_cast<void *>(nullptr));
    }
    // One byte for each element: 1 where it is masked.
    std::vector<std::uint8_t> mask() const {
        std::vector<std::uint8_t> mask(size());
        detail::call(trilith_array_read_mask, get(), mask.data(), mask.size());
        return mask;
    }
    std::string text(std::uint64_t index) const { return detail::text(trilith_array_text, get(), index); }
    const trilith_array *get() const noexcept { return held_.get(); }

private:
    detail::handle<trilith_array, trilith_array_free> held_;
};

// One item of a file's tree.
class item {
public:
    explicit item(trilith_item *made) : held_(made) {}
    int kind() const { return trilith_item_kind(get()); }
    std::int64_t as_int() const { return value<std::int64_t>(trilith_item_int); }
    double as_double() const { return value<double>(trilith_item_double); }
    bool as_bool() const { return value<std::int32_t>(trilith_item_bool) != 0; }
    std::string as_text() const { return detail::text(trilith_item_text, get()); }
    std::string tag() const { return detail::text(trilith_item_tag, get()); }
    std::string unit() const { return detail::text(trilith_item_unit, get()); }
    std::string attribute(const std::string &name) const {
        return detail::text(
            [&name](const trilith_item *of, char **out, trilith_error **error) {
                return trilith_item_attribute(of, name.c_str(), out, nullptr, error);
            },
            get());
    }
    array as_array() const { return array(detail::made<trilith_array>(trilith_item_array, get())); }
    item follow() const { return item(detail::made<trilith_item>(trilith_item_follow, get())); }
    // Names (empty in a list) and items.
    std::vector<std::pair<std::string, item>> children() const {
        detail::handle<trilith_children, trilith_children_free> left(detail::made<trilith_children>(trilith_item_children, get()));
        std::vector<std::pair<std::string, item>> found;
        for (;;) {
            const char *name = nullptr;
            trilith_item *child = nullptr;
            detail::call(trilith_children_next, left.get(), &name, &child);
            if (!child) return found;
            found.emplace_back(name ? name : "", item(child));
        }
    }
    const trilith_item *get() const noexcept { return held_.get(); }

private:
    template <class T, class F> T value(F function) const {
        T out{};
        detail::call(function, get(), &out);
        return out;
    }
    detail::handle<trilith_item, trilith_item_free> held_;
};

// An open file.
class file {
public:
    // Opens a path or an address.
    explicit file(const std::string &path, const trilith_options *options = nullptr)
        : held_(detail::made<trilith_file>(trilith_open, path.c_str(), options)) {}
    // Opens a file in memory.
    file(view<const std::uint8_t> bytes, const trilith_options *options = nullptr)
        : held_(detail::made<trilith_file>(trilith_open_memory, static_cast<const void *>(bytes.data()), bytes.size(), options)) {}
    std::string family() const { return trilith_file_family(get()); }
    item root() const { return item(detail::made<trilith_item>(trilith_root, get())); }
    item at(const std::string &path) const { return item(detail::made<trilith_item>(trilith_item_at, get(), path.c_str())); }
    trilith::array array(const std::string &path) const {
        return trilith::array(detail::made<trilith_array>(trilith_array_at, get(), path.c_str()));
    }
    // The paths of all arrays.
    std::vector<std::string> arrays() const {
        detail::handle<trilith_arrays, trilith_arrays_free> list(detail::made<trilith_arrays>(trilith_list_arrays, get()));
        std::vector<std::string> paths;
        for (std::size_t at = 0; at < trilith_arrays_count(list.get()); ++at) paths.emplace_back(trilith_arrays_path(list.get(), at));
        return paths;
    }
    // One line for each problem; empty where the file is right.
    std::string verify(bool deep = false) const {
        return detail::text(trilith_verify, get(), std::int32_t(deep), static_cast<trilith_progress>(nullptr), static_cast<void *>(nullptr));
    }
    const trilith_file *get() const noexcept { return held_.get(); }

private:
    detail::handle<trilith_file, trilith_close> held_;
};

// A new file.
class writer {
public:
    explicit writer(const char *generation = nullptr) : held_(detail::made<trilith_writer>(trilith_writer_new, generation)) {}
    void codec(const std::string &name) { detail::call(trilith_writer_codec, held_.get(), name.c_str()); }
    void set(const std::string &path, std::int64_t value) { detail::call(trilith_writer_int, held_.get(), path.c_str(), value); }
    void set(const std::string &path, int value) { set(path, std::int64_t(value)); }
    void set(const std::string &path, bool value) { detail::call(trilith_writer_bool, held_.get(), path.c_str(), std::int32_t(value)); }
    void set(const std::string &path, double value) { detail::call(trilith_writer_double, held_.get(), path.c_str(), value); }
    void set(const std::string &path, const char *value) { detail::call(trilith_writer_text, held_.get(), path.c_str(), value); }
    void set(const std::string &path, const std::string &value) { set(path, value.c_str()); }
    // Adds elements in C order, which must stay as they are until write(), unless there is a mask.
    template <class T>
    void array(const std::string &path, view<const T> data, const std::vector<std::uint64_t> &shape, const std::uint8_t *mask = nullptr) {
        const auto count = std::accumulate(shape.begin(), shape.end(), std::uint64_t(1), std::multiplies<>());
        if (count != data.size()) throw std::invalid_argument("the elements do not fill the shape");
        detail::call(trilith_writer_array, held_.get(), path.c_str(), detail::datatype<T>(), shape.size(), shape.data(),
                     static_cast<const void *>(data.data()), mask);
    }
    void write(const std::string &path) { detail::call(trilith_writer_write, held_.get(), path.c_str()); }

private:
    detail::handle<trilith_writer, trilith_writer_free> held_;
};

// Changes of a file that was read.
class change {
public:
    explicit change(const file &of) : held_(detail::made<trilith_change>(trilith_change_new, of.get())) {}
    void set(const std::string &path, std::int64_t value) { detail::call(trilith_change_int, held_.get(), path.c_str(), value); }
    void set(const std::string &path, int value) { set(path, std::int64_t(value)); }
    void set(const std::string &path, bool value) { detail::call(trilith_change_bool, held_.get(), path.c_str(), std::int32_t(value)); }
    void set(const std::string &path, double value) { detail::call(trilith_change_double, held_.get(), path.c_str(), value); }
    void set(const std::string &path, const char *value) { detail::call(trilith_change_text, held_.get(), path.c_str(), value); }
    void set(const std::string &path, const std::string &value) { set(path, value.c_str()); }
    void erase(const std::string &path) { detail::call(trilith_change_delete, held_.get(), path.c_str()); }
    // Saves where the file was read from, in place where that can be.
    void save() { detail::call(trilith_change_save, held_.get(), static_cast<const char *>(nullptr), std::uint32_t(TRILITH_IN_PLACE)); }
    // Saves at another path; a file there that holds data is replaced only with `overwrite`.
    void save_as(const std::string &path, bool overwrite = false) {
        detail::call(trilith_change_save, held_.get(), path.c_str(), std::uint32_t(overwrite ? TRILITH_OVERWRITE : 0));
    }

private:
    detail::handle<trilith_change, trilith_change_free> held_;
};

} // namespace trilith

#endif
