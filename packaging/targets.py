"""What a release is built for."""
from collections import namedtuple

# zig: zig cc's name; host: configure's; system, machine: CMake's; wheel: platform tags; libraries: of what is installed, those in the wheel,
# where a star stands for the version
Target = namedtuple('Target', 'name zig host system machine wheel libraries')

LINUX = ('lib/libstepscope.so.0-*', 'lib/libsstrace.so.0', 'lib/libsstrace_server.so.0', 'lib/stepscope/libsstrace_inject.so')
MACOS = ('lib/libstepscope.0-*.dylib',)

TARGETS = [
    Target('linux-x86_64', 'x86_64-linux-gnu.2.17', 'x86_64-linux-gnu', 'Linux', 'x86_64', 'manylinux_2_17_x86_64.manylinux2014_x86_64', LINUX),
    Target('linux-aarch64', 'aarch64-linux-gnu.2.17', 'aarch64-linux-gnu', 'Linux', 'aarch64', 'manylinux_2_17_aarch64.manylinux2014_aarch64', LINUX),
    Target('musl-x86_64', 'x86_64-linux-musl', 'x86_64-linux-musl', 'Linux', 'x86_64', 'musllinux_1_2_x86_64', LINUX),
    Target('musl-aarch64', 'aarch64-linux-musl', 'aarch64-linux-musl', 'Linux', 'aarch64', 'musllinux_1_2_aarch64', LINUX),
    Target('macos-aarch64', 'aarch64-macos.11.0', 'aarch64-apple-darwin', 'Darwin', 'arm64', 'macosx_11_0_arm64', MACOS),
    Target('macos-x86_64', 'x86_64-macos.11.0', 'x86_64-apple-darwin', 'Darwin', 'x86_64', 'macosx_11_0_x86_64', MACOS),
]
