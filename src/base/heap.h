/* heap.h - settings of the heap that only some C libraries have; elsewhere the functions do nothing. */
#ifndef SS_BASE_HEAP_H
#define SS_BASE_HEAP_H

#include <stddef.h>

/* Give freed memory back to the system now. */
void ss_heap_trim(void);
/*
 * Settings for a program that answers and ends: few heaps, because threads come and go, and large
 * blocks are given back when they are freed.
 */
void ss_heap_for_program(void);
/* For a server: one answer after the other takes some megabytes, and a fault for each page costs more than making the answer. */
void ss_heap_for_server(void);
/* The usable size in bytes of a block from malloc; 0 for NULL. */
size_t ss_heap_block_bytes(void *p);

#endif
