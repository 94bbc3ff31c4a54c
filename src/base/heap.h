/* heap.h - what only some C libraries let a program say about its heap; elsewhere nothing happens. */
#ifndef SS_BASE_HEAP_H
#define SS_BASE_HEAP_H

#include <stddef.h>

/* Give what was freed back to the system now. */
void ss_heap_trim(void);
/* For a program that answers and ends: few heaps, for threads come and go, and what is large goes back when it is freed. */
void ss_heap_for_program(void);
/* For a server: one answer after the other takes some megabytes, and a fault for each page costs more than making the answer. */
void ss_heap_for_server(void);
/* How many bytes of a block from malloc can be used; 0 of NULL. */
size_t ss_heap_block_bytes(void *p);

#endif
