// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/module_image.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "capture/process/copy_memory.h"
#include "capture/process/intern_table.h"

namespace synctrace::capture {
namespace {

constexpr std::size_t kMaxHeaders = 64;  // program headers; linkers make a dozen
constexpr std::size_t kMaxNoteBytes = 1024;
constexpr std::size_t kFingerprintBytes = 4096;  // the head and the first 500 entries of .eh_frame_hdr

#if defined(__aarch64__)
constexpr ElfW(Half) kMachine = EM_AARCH64;
#else
constexpr ElfW(Half) kMachine = EM_X86_64;
#endif

// The GNU build-id among the notes in [at, end).
void find_build_id(const std::byte* at, const std::byte* end, ModuleImage& image) noexcept {
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof(note));
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t text_bytes = (std::size_t{note.n_descsz} + 3) & ~std::size_t{3};
    const std::byte* name = at + sizeof(note);
    if (name_bytes + text_bytes > static_cast<std::size_t>(end - name)) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      image.build_id_size = static_cast<std::uint8_t>(std::min<std::size_t>(note.n_descsz, ModuleImage::kMaxBuildId));
      std::memcpy(image.build_id_bytes.data(), name + name_bytes, image.build_id_size);
      return;
    }
    at = name + name_bytes + text_bytes;
  }
}

class ImageReader {
 public:
  ImageReader(const ProcessMaps& maps, const MappedPiece& first, ModuleImage& image) noexcept
      : maps_(maps), first_(first), image_(image) {}

  bool read() noexcept {
    if (!read_headers() || !find_bias()) return false;
    for (const ElfW(Phdr) & header : headers()) {
      if (!take(header)) return false;
    }
    if (image_.code_segment_count == 0) return false;
    find_frame_data();
    // The program itself was relocated before anything ran; of libraries that keep no part read-only it is not known.
    const std::uintptr_t program = getauxval(AT_PHDR);
    if (!has_relro_) image_.is_relocated = program >= image_.begin && program < image_.end;
    for (const ElfW(Phdr) & header : headers()) {
      if (header.p_type == PT_NOTE && image_.build_id_size == 0) take_notes(header);
    }
    return take_fingerprint();
  }

 private:
  std::span<const ElfW(Phdr)> headers() const noexcept { return {headers_.data(), header_count_}; }

  bool read_headers() noexcept {
    ElfW(Ehdr) file{};
    if (first_.file_offset != 0 || first_.end - first_.begin < sizeof(file) || !copy_value(first_.begin, file))
      return false;
    const bool is_ours = std::memcmp(file.e_ident, ELFMAG, SELFMAG) == 0 && file.e_ident[EI_CLASS] == ELFCLASS64 &&
                         (file.e_type == ET_DYN || file.e_type == ET_EXEC) && file.e_machine == kMachine &&
                         file.e_phentsize == sizeof(ElfW(Phdr)) && file.e_phnum != 0 && file.e_phnum <= kMaxHeaders;
    if (!is_ours) return false;
    header_count_ = file.e_phnum;
    const std::uintptr_t at = address_of(file.e_phoff);
    return at != 0 && copy_memory(at, headers_.data(), header_count_ * sizeof(ElfW(Phdr)));
  }

  // Where that part of the file is mapped; tools that edit files put the program headers behind everything else.
  std::uintptr_t address_of(std::uint64_t file_offset) const noexcept {
    for (const MappedPiece* piece = &first_; piece != maps_.pieces().end(); ++piece) {
      const bool holds =
          file_offset >= piece->file_offset && file_offset - piece->file_offset < piece->end - piece->begin;
      if (holds && maps_.same_file(*piece, first_)) return piece->begin + (file_offset - piece->file_offset);
    }
    return 0;
  }

  // `first_` holds the first page of the file, which is part of a segment.
  bool find_bias() noexcept {
    constexpr std::uint64_t kPage = 4096;  // or a multiple of it: then more offsets come to lie in the first one
    for (const ElfW(Phdr) & header : headers()) {
      if (header.p_type != PT_LOAD || header.p_offset >= kPage || header.p_filesz == 0) continue;
      image_.bias = first_.begin - (header.p_vaddr - header.p_offset);
      return true;
    }
    return false;
  }

  // Code of the file at the place where the header wants it; or code of no file, where a program moved its code to
  // large pages.
  bool is_mapped_as_code(std::uintptr_t address, std::uint64_t file_offset) const noexcept {
    const MappedPiece* piece = maps_.at(address);
    if (piece == nullptr || !piece->is_code) return false;
    if (piece->inode == 0 && !maps_.same_file(*piece, first_)) return true;
    return maps_.same_file(*piece, first_) && piece->file_offset + (address - piece->begin) == file_offset;
  }

  bool take(const ElfW(Phdr) & header) noexcept {
    const std::uintptr_t begin = image_.bias + header.p_vaddr;
    if (header.p_type == PT_LOAD) return take_segment(header, begin);
    if (header.p_type == PT_GNU_EH_FRAME) {
      image_.eh_frame_header = begin;
      image_.eh_frame_header_bytes = header.p_memsz;
    }
    if (header.p_type == PT_DYNAMIC) {
      image_.dynamic_section = begin;
      image_.dynamic_section_bytes = header.p_memsz;
    }
    if (header.p_type == PT_GNU_RELRO) {  // write-protected when all is relocated
      const MappedPiece* piece = maps_.at(begin);
      has_relro_ = true;
      image_.is_relocated = piece != nullptr && !piece->is_writable;
    }
    return true;
  }

  bool take_segment(const ElfW(Phdr) & header, std::uintptr_t begin) noexcept {
    const std::uintptr_t end = begin + header.p_memsz;
    if (end < begin || header.p_filesz > header.p_memsz) return false;
    if (header.p_memsz == 0) return true;
    image_.begin = image_.begin == 0 ? begin : std::min(image_.begin, begin);
    image_.end = std::max(image_.end, end);
    if ((header.p_flags & PF_X) == 0 || image_.code_segment_count == ModuleImage::kMaxSegments) return true;
    const std::uint64_t last = header.p_filesz == 0 ? 0 : header.p_filesz - 1;
    if (!is_mapped_as_code(begin, header.p_offset) || !is_mapped_as_code(begin + last, header.p_offset + last))
      return false;
    image_.code_segments[image_.code_segment_count++] = {begin, end, header.p_offset};
    return true;
  }

  void find_frame_data() noexcept {
    for (const ElfW(Phdr) & header : headers()) {
      const std::uintptr_t begin = image_.bias + header.p_vaddr;
      const bool holds = image_.eh_frame_header >= begin && image_.eh_frame_header - begin < header.p_filesz &&
                         image_.eh_frame_header_bytes <= header.p_filesz - (image_.eh_frame_header - begin);
      if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || !holds) continue;
      image_.frame_data_begin = begin;
      image_.frame_data_end = begin + header.p_filesz;
    }
    if (image_.frame_data_end == 0) image_.eh_frame_header = image_.eh_frame_header_bytes = 0;
  }

  void take_notes(const ElfW(Phdr) & header) noexcept {
    std::array<std::byte, kMaxNoteBytes> notes;
    const std::size_t bytes = std::min<std::size_t>(header.p_filesz, notes.size());
    if (copy_memory(image_.bias + header.p_vaddr, notes.data(), bytes))
      find_build_id(notes.data(), notes.data() + bytes, image_);
  }

  bool take_fingerprint() noexcept {
    if (image_.eh_frame_header == 0) return true;
    std::array<std::byte, kFingerprintBytes> header;
    const std::size_t bytes = std::min(image_.eh_frame_header_bytes, header.size());
    if (!copy_memory(image_.eh_frame_header, header.data(), bytes)) return false;
    image_.fingerprint = frame_header_fingerprint(std::span(header).first(bytes));
    return true;
  }

  const ProcessMaps& maps_;
  const MappedPiece& first_;
  ModuleImage& image_;
  std::array<ElfW(Phdr), kMaxHeaders> headers_{};
  std::size_t header_count_ = 0;
  bool has_relro_ = false;
};

}  // namespace

bool read_module_image(const ProcessMaps& maps, const MappedPiece& first, ModuleImage& image) noexcept {
  image = {};
  return ImageReader(maps, first, image).read();
}

std::uint64_t frame_header_fingerprint(std::span<const std::byte> header) noexcept {
  return hash_bytes(header.data(), std::min(header.size(), kFingerprintBytes));
}

}  // namespace synctrace::capture
