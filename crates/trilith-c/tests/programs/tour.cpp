// The same tour in C++17.
#include <iostream>
#include "trilith.hpp"

int main(int argc, char **argv) {
    const std::string path = argc > 1 ? argv[1] : "tour.asdf";
    try {
        const std::vector<float> image{0, 1, 2, 3, 4, 5};
        const std::vector<std::uint8_t> mask{0, 0, 0, 0, 0, 1};
        trilith::writer writer;
        writer.codec("lz4");
        writer.array<float>("/image", image, {2, 3});
        writer.array<float>("/masked", image, {2, 3}, mask.data());
        writer.set("/exposure", 139.8);
        writer.write(path);
        trilith::file file(path);
        const auto part = file.array("/image").slice({{1, 2}, {0, 2}}).read<double>();
        const auto seen = file.array("/masked").mask();
        trilith::change change(file);
        change.set("/exposure", 60.5);
        change.save();
        const trilith::file saved(path);
        const auto exposure = saved.at("/exposure").as_double();
        std::cout << part[0] << ' ' << part[1] << ", masked " << int(seen[4]) << int(seen[5]) << ", " << exposure << '\n';
        if (saved.arrays() != std::vector<std::string>{"/image", "/masked"} || !saved.verify(true).empty()) return 1;
        try {
            saved.at("/nothing");
            return 1;
        } catch (const trilith::error &missing) {
            return missing.status() == TRILITH_NOT_FOUND ? 0 : 1;
        }
    } catch (const std::exception &failed) {
        std::cerr << failed.what() << '\n';
        return 1;
    }
}
