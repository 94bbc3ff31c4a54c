/* main.c - the program. A release has all else of it in libstepscope (cmake: SS_ONE_LIBRARY), which Python loads too. */
#include "cli.h"

int main(int argc, char **argv)
{
	return stepscope_main(argc, argv);
}
