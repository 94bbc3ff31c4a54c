"""What Homebrew and conda-forge build a release from: the tarball of the sources, by its address and digest."""
import os

from libraries import digest

SUMMARY = "Profiles of JAX, TensorFlow and PyTorch: where a training step's time goes"

FORMULA = '''class Stepscope < Formula
  desc "{summary}"
  homepage "{url}"
  url "{url}/stepscope-{version}.tar.gz"
  sha256 "{sha256}"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "pkgconf" => :build
  depends_on "brotli"
  depends_on "libdeflate"
  depends_on "libmicrohttpd"
  depends_on "libnghttp2"
  depends_on "sqlite"
  depends_on "zstd"

  uses_from_macos "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/stepscope --version")
  end
end
'''

RECIPE = '''package:
  name: stepscope
  version: "{version}"

source:
  url: {url}/stepscope-{version}.tar.gz
  sha256: {sha256}

build:
  number: 0
  script:
    - cmake -S . -B build -G Ninja $CMAKE_ARGS
    - cmake --build build
    - cmake --install build
    - cp -r python/stepscope $SP_DIR/
  skip: win

requirements:
  build: [cmake, ninja, pkg-config, "${{{{ compiler('c') }}}}", "${{{{ stdlib('c') }}}}"]
  host: [python, zlib, libdeflate, libmicrohttpd, libnghttp2, sqlite, zstd, libbrotlidec, libbrotlicommon]
  run: [python]

tests:
  - script: [stepscope --version]
  - python:
      imports: [stepscope]

about:
  homepage: {url}
  summary: "{summary}"
  license: Apache-2.0
  license_file: LICENSE
'''


def write(out, version, url):
    values = {'version': version, 'url': url.rstrip('/'), 'summary': SUMMARY, 'sha256': digest(os.path.join(out, f'stepscope-{version}.tar.gz'))}
    for name, text in (('stepscope.rb', FORMULA), ('recipe.yaml', RECIPE)):
        with open(os.path.join(out, name), 'w') as f:
            f.write(text.format(**values))
