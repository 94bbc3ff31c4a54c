# What compiler and linker do against the faults that get past us. tests/cli/hardening.py reads it back from what was built.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The last two are for x86 and for Arm: indirect jumps land where functions begin.
set(CMAKE_REQUIRED_FLAGS -Werror)	# a compiler that merely warns of a flag does not have it
foreach(flag -fstack-protector-strong -fcf-protection=full -mbranch-protection=standard)
	string(MAKE_C_IDENTIFIER "SS_HAS${flag}" has)
	check_c_compiler_flag(${flag} ${has})
	if(${has})
		add_compile_options(${flag})
	endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)
# It wants optimization; a sanitizer looks at the same calls, and closer.
if(NOT SS_SANITIZE)
	add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
if(NOT APPLE)	# whose linker does all three unasked
	add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
