/*
 * demo.h - the log directory that the program carries, as PATH "demo:": a recorded JAX program on a CPU and a made-up one
 * on three TPU hosts, both of tests/data/profiles. demo.tar.zst is made of copies of them whose files have one time each:
 *
 *	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -c jax_mlp_train synth_tpu_3hosts |
 *		zstd -19 --ultra -c
 */
#ifndef SS_LOCATION_DEMO_H
#define SS_LOCATION_DEMO_H

extern const unsigned char ss_demo[], ss_demo_end[];

#define SS_DEMO_NAME "demo:"

#endif
