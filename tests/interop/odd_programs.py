"""Programs in XLA's notation that compilers for CPUs do not make: odd_programs.py FOLDER SEED COUNT

Written by hand for the corners (asynchronous pairs, libraries of GPUs, tiles of TPUs, odd names), and drawn at random: instructions, fusions in
fusions, loops, calls and tuples, tied together as they come. Each becomes FOLDER/name.pb, an HloModuleProto.
"""
import os
import random
import sys

FUSIONS = '''
HloModule fusions, is_scheduled=true

%fused_inner (p: f32[64,128]) -> f32[64,128] {
  %p = f32[64,128]{1,0} parameter(0)
  %two = f32[] constant(2)
  %bc = f32[64,128]{1,0} broadcast(f32[] %two), dimensions={}
  ROOT %inner_mul = f32[64,128]{1,0} multiply(%p, %bc)
}

%fused_outer (p0: f32[64,128], p1: f32[], p2: f32[128,64]) -> f32[64,128] {
  %p0 = f32[64,128]{1,0} parameter(0)
  %p1 = f32[] parameter(1)
  %p2 = f32[128,64]{1,0} parameter(2)
  %t = f32[64,128]{1,0} transpose(%p2), dimensions={1,0}
  %bp1 = f32[64,128]{1,0} broadcast(%p1), dimensions={}
  %inner = f32[64,128]{1,0} fusion(%t), kind=kLoop, calls=%fused_inner
  %bit = f32[64,128]{1,0} bitcast(%p0)
  %s = f32[64,128]{1,0} add(%inner, %bit)
  ROOT %r = f32[64,128]{1,0} maximum(%s, %bp1)
}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%fused_multi (q0: f32[64,128]) -> (f32[64], f32[64,128]) {
  %q0 = f32[64,128]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %red = f32[64]{0} reduce(%q0, %zero), dimensions={1}, to_apply=%add
  %neg = f32[64,128]{1,0} negate(%q0)
  ROOT %both = (f32[64]{0}, f32[64,128]{1,0}) tuple(%red, %neg)
}

%fused_constant () -> f32[64,128] {
  %c = f32[] constant(1)
  ROOT %bcc = f32[64,128]{1,0} broadcast(%c), dimensions={}
}

%fused_dot (d0: f32[64,128], d1: f32[64]) -> f32[64,64] {
  %d0 = f32[64,128]{1,0} parameter(0)
  %d1 = f32[64]{0} parameter(1)
  %dot.7 = f32[64,64]{1,0} dot(%d0, %d0), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  %bd = f32[64,64]{1,0} broadcast(%d1), dimensions={0}
  ROOT %o = f32[64,64]{1,0} add(%dot.7, %bd)
}

%fused_inner.2 (p: f32[64,128]) -> f32[64,128] {
  %p.2 = f32[64,128]{1,0} parameter(0)
  ROOT %abs.2 = f32[64,128]{1,0} abs(%p.2)
}

%nested_root (n0: f32[64,128]) -> f32[64,128] {
  %n0 = f32[64,128]{1,0} parameter(0)
  %e = f32[64,128]{1,0} exponential(%n0)
  ROOT %fusion.root = f32[64,128]{1,0} fusion(%e), kind=kLoop, calls=%fused_inner.2
}

ENTRY %main (x: f32[64,128], y: f32[128,64]) -> (f32[64,128], f32[64,64], f32[64,128], f32[64,128]) {
  %x = f32[64,128]{1,0} parameter(0)
  %y = f32[128,64]{1,0} parameter(1)
  %limit = f32[] constant(3.5)
  %loop_fusion = f32[64,128]{1,0} fusion(%x, %limit, %y), kind=kLoop, calls=%fused_outer, metadata={op_type="max" op_name="jit(f)/outer/max" source_file="/src/model.py" source_line=12}
  %input_fusion.3 = (f32[64]{0}, f32[64,128]{1,0}) fusion(%loop_fusion), kind=kInput, calls=%fused_multi, backend_config={"a":"b<1>"}
  %g0 = f32[64]{0} get-tuple-element(%input_fusion.3), index=0
  %g1 = f32[64,128]{1,0} get-tuple-element(%input_fusion.3), index=1
  %fusion.4 = f32[64,64]{1,0} fusion(%g1, %g0), kind=kOutput, calls=%fused_dot
  %fusion.5 = f32[64,128]{1,0} fusion(), kind=kLoop, calls=%fused_constant
  %custom_fusion = f32[64,128]{1,0} fusion(%g1), kind=kCustom, calls=%nested_root, backend_config={"fusion_backend_config":{"kind":"__triton"}}
  ROOT %tuple.9 = (f32[64,128]{1,0}, f32[64,64]{1,0}, f32[64,128]{1,0}, f32[64,128]{1,0}) tuple(%g1, %fusion.4, %fusion.5, %custom_fusion)
}
'''

CALLS = '''
HloModule calls, entry_computation_layout={(f32[32]{0}, s32[], (f32[32]{0}, f32[8,8]{1,0}, s32[], pred[], f32[]))->(f32[32]{0}, f32[32]{0}, f32[32]{0}, f32[])}

%helper (h0: f32[32], h1: f32[32]) -> f32[32] {
  %h0 = f32[32]{0} parameter(0)
  %h1 = f32[32]{0} parameter(1)
  ROOT %h = f32[32]{0} subtract(%h0, %h1)
}

%once (o0: f32[32], o1: f32[]) -> f32[32] {
  %o0 = f32[32]{0} parameter(0)
  %o1 = f32[] parameter(1)
  %ob = f32[32]{0} broadcast(%o1), dimensions={}
  ROOT %om = f32[32]{0} multiply(%o0, %ob)
}

%greater (a: f32[], b: f32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %gt = pred[] compare(%b, %a), direction=GT
}

%minimum_of (m0: f32[1], m1: f32[1]) -> f32[1] {
  %m0 = f32[1]{0} parameter(0)
  %m1 = f32[1]{0} parameter(1)
  ROOT %mm = f32[1]{0} minimum(%m1, %m0)
}

%largest (l0: f32[], l1: f32[]) -> f32[] {
  %l0 = f32[] parameter(0)
  %l1 = f32[] parameter(1)
  ROOT %l = f32[] maximum(%l0, %l1)
}

%square (s0: f32[], sb: f32[]) -> f32[] {
  %s0 = f32[] parameter(0)
  %sb = f32[] parameter(1)
  ROOT %sq = f32[] multiply(%s0, %s0)
}

%yes (y: f32[32]) -> f32[32] {
  ROOT %y = f32[32]{0} parameter(0)
}

%no (n: f32[32]) -> f32[32] {
  %n = f32[32]{0} parameter(0)
  ROOT %c = f32[32]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32})
}

%body (s: (s32[], f32[32], f32[32], f32[8,8], pred[])) -> (s32[], f32[32], f32[32], f32[8,8], pred[]) {
  %s = (s32[], f32[32]{0}, f32[32]{0}, f32[8,8]{1,0}, pred[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %u = f32[32]{0} get-tuple-element(%s), index=1
  %v = f32[32]{0} get-tuple-element(%s), index=2
  %w = f32[8,8]{1,0} get-tuple-element(%s), index=3
  %p = pred[] get-tuple-element(%s), index=4
  %uv = f32[32]{0} call(%u, %v), to_apply=%helper
  ROOT %t = (s32[], f32[32]{0}, f32[32]{0}, f32[8,8]{1,0}, pred[]) tuple(%next, %uv, %v, %w, %p)
}

%condition (s: (s32[], f32[32], f32[32], f32[8,8], pred[])) -> pred[] {
  %cs = (s32[], f32[32]{0}, f32[32]{0}, f32[8,8]{1,0}, pred[]) parameter(0)
  %ci = s32[] get-tuple-element(%cs), index=0
  %ten = s32[] constant(10)
  ROOT %lt = pred[] compare(%ci, %ten), direction=LT
}

ENTRY %entry (x: f32[32], n: s32[], t: (f32[32], f32[8,8], s32[], pred[], f32[])) -> (f32[32], f32[32], f32[32], f32[]) {
  %x = f32[32]{0} parameter(0), sharding={replicated}
  %n.1 = s32[] parameter(1)
  %t.1 = (f32[32]{0}, f32[8,8]{1,0}, s32[], pred[], f32[]) parameter(2)
  %t0 = f32[32]{0} get-tuple-element(%t.1), index=0
  %t1 = f32[8,8]{1,0} get-tuple-element(%t.1), index=1
  %t2 = s32[] get-tuple-element(%t.1), index=2
  %t3 = pred[] get-tuple-element(%t.1), index=3
  %t4 = f32[] get-tuple-element(%t.1), index=4
  %state = (s32[], f32[32]{0}, f32[32]{0}, f32[8,8]{1,0}, pred[]) tuple(%t2, %x, %t0, %t1, %t3)
  %while.5 = (s32[], f32[32]{0}, f32[32]{0}, f32[8,8]{1,0}, pred[]) while(%state), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"10"}}
  %u.1 = f32[32]{0} get-tuple-element(%while.5), index=1
  %call.1 = f32[32]{0} call(%u.1, %x), to_apply=%helper
  %copy.2 = f32[32]{0} copy(%call.1)
  %call.2 = f32[32]{0} call(%copy.2, %t4), to_apply=%once, frontend_attributes={name="x",why="{y}"}
  %conditional.3 = f32[32]{0} conditional(%t3, %call.2, %x), true_computation=%yes, false_computation=%no
  %switch = f32[32]{0} conditional(%n.1, %x, %x, %call.2), branch_computations={%yes, %no, %yes}
  %sort.1 = f32[32]{0} sort(%switch), dimensions={0}, to_apply=%greater
  %zero = f32[] constant(0)
  %reduce.4 = f32[] reduce(%sort.1, %zero), dimensions={0}, to_apply=%largest
  %odd = f32[] reduce(%x, %zero), dimensions={0}, to_apply=%square
  %map.1 = f32[32]{0} map(%x, %sort.1), dimensions={0}, to_apply=%largest
  %window = f32[32]{0} reduce-window(%map.1, %zero), window={size=3 pad=1_1}, to_apply=%largest
  %cc = f32[32]{0} custom-call(%window, %x), custom_call_target="made_up", called_computations={%helper, %once}, custom_call_has_side_effect=true, api_version=API_VERSION_STATUS_RETURNING, metadata={op_name="a\\"b" op_type="<made up>"}
  %sum = f32[] add(%reduce.4, %odd)
  ROOT %out = (f32[32]{0}, f32[32]{0}, f32[32]{0}, f32[]) tuple(%conditional.3, %cc, %window, %sum)
}
'''

ASYNC = '''
HloModule async, is_scheduled=true

%add (a: bf16[], b: bf16[]) -> bf16[] {
  %a = bf16[] parameter(0)
  %b = bf16[] parameter(1)
  ROOT %s = bf16[] add(%a, %b)
}

%wrapped (w: bf16[8,128]) -> bf16[8,128] {
  %w = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT %cc.1 = bf16[8,128]{1,0:T(8,128)(2,1)} custom-call(%w), custom_call_target="far_away"
}, execution_thread="sparsecore"

ENTRY %e (x: bf16[8,128]) -> bf16[8,128] {
  %x = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  %after = token[] after-all()
  %in = ((bf16[8,128]{1,0:T(8,128)(2,1)}, s32[4]{0}), token[]) infeed(%after), infeed_config="cfg"
  %data = (bf16[8,128]{1,0:T(8,128)(2,1)}, s32[4]{0}) get-tuple-element(%in), index=0
  %fed = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%data), index=0
  %start = ((bf16[8,128]{1,0:T(8,128)(2,1)}), bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) async-start(%fed), async_execution_thread="sparsecore", calls=%wrapped
  %ags = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[32,128]{1,0:T(8,128)(2,1)}) all-gather-start(%x), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
  %cs = (bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) copy-start(%x)
  %cd = bf16[8,128]{1,0:T(8,128)(2,1)S(1)} copy-done(%cs)
  %ars = bf16[8,128]{1,0:T(8,128)(2,1)} all-reduce-start(%cd), channel_id=2, replica_groups=[2,32]<=[64], to_apply=%add, control-predecessors={%ags}
  %update = ((bf16[8,128]{1,0:T(8,128)(2,1)}), bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) async-update(%start)
  %done = bf16[8,128]{1,0:T(8,128)(2,1)} async-done(%update)
  %agd = bf16[32,128]{1,0:T(8,128)(2,1)} all-gather-done(%ags)
  %ard = bf16[8,128]{1,0:T(8,128)(2,1)} all-reduce-done(%ars)
  %cps = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(%ard), channel_id=3, source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,8},{8,9},{9,10},{10,11},{11,12},{12,13},{13,14},{14,15},{15,16},{16,17},{17,18},{18,19},{19,20},{20,0}}
  %cpd = bf16[8,128]{1,0:T(8,128)(2,1)} collective-permute-done(%cps)
  %send = (bf16[8,128]{1,0:T(8,128)(2,1)}, u32[], token[]) send(%cpd, %after), channel_id=4, is_host_transfer=true
  %sent = token[] send-done(%send), channel_id=4, is_host_transfer=true
  %recv = (bf16[8,128]{1,0:T(8,128)(2,1)}, u32[], token[]) recv(%sent), channel_id=5
  %received = (bf16[8,128]{1,0:T(8,128)(2,1)}, token[]) recv-done(%recv), channel_id=5
  %rdata = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%received), index=0
  %sl = bf16[8,128]{1,0:T(8,128)(2,1)} slice(%agd), slice={[0:8], [0:128]}
  %dep = bf16[8,128]{1,0:T(8,128)(2,1)} add-dependency(%sl, %sent)
  %mix = bf16[8,128]{1,0:T(8,128)(2,1)} add(%dep, %done), control-predecessors={%recv, %cps, %ars}
  %ar = bf16[8,128]{1,0:T(8,128)(2,1)} all-reduce(%mix), channel_id=6, replica_groups={{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15},{16,17,18,19,20,21,22,23},{24,25,26,27,28,29,30,31},{32,33,34,35,36,37,38,39}}, to_apply=%add
  %barrier = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[8,128]{1,0:T(8,128)(2,1)}) tuple(%ar, %rdata)
  %ob = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[8,128]{1,0:T(8,128)(2,1)}) opt-barrier(%barrier)
  %ob0 = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%ob), index=0
  %ob1 = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%ob), index=1
  %id = u32[] replica-id()
  %part = u32[] partition-id()
  %which = u32[] add(%id, %part)
  %pick = pred[] compare(%which, %id), direction=EQ
  %out = token[] outfeed(%ob1, %sent), outfeed_shape=bf16[8,128]{1,0}, outfeed_config="o"
  %sel = bf16[8,128]{1,0:T(8,128)(2,1)} select(%pick, %ob0, %ob1)
  ROOT %final = bf16[8,128]{1,0:T(8,128)(2,1)} add(%sel, %ob1), control-predecessors={%out}
}
'''

LIBRARIES = '''
HloModule libraries

ENTRY %main.1 (a: f32[64,128], b: f32[128,256], im: f16[8,32,32,16], k: f16[3,3,16,32], c: c64[8,8], bias: f16[32]) -> (f32[64,256], f16[8,32,32,32], c64[8,8], f32[64,256], f16[8,32,32,32]) {
  %a = f32[64,128]{1,0} parameter(0)
  %b = f32[128,256]{1,0} parameter(1)
  %im = f16[8,32,32,16]{3,2,1,0} parameter(2)
  %k = f16[3,3,16,32]{3,2,1,0} parameter(3)
  %c = c64[8,8]{1,0} parameter(4)
  %bias = f16[32]{0} parameter(5)
  %cublas-gemm.1 = (f32[64,256]{1,0}, s8[4194304]{0}) custom-call(%a, %b), custom_call_target="__cublas$gemm", backend_config={"operation_queue_id":"0","gemm_backend_config":{"alpha_real":0.5,"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]},"alpha_imag":0,"precision_config":{"operand_precision":["DEFAULT","DEFAULT"]},"epilogue":"DEFAULT","selected_algorithm":"5"}}
  %g = f32[64,256]{1,0} get-tuple-element(%cublas-gemm.1), index=0
  %lt = (f32[64,256]{1,0}, s8[33554432]{0}) custom-call(%a, %b, %g), custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":{"alpha_real":1,"beta":0.25,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]},"epilogue":"BIAS_RELU"}}
  %g2 = f32[64,256]{1,0} get-tuple-element(%lt), index=0
  %cg = (c64[8,8]{1,0}, s8[1024]{0}) custom-call(%c, %c), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"alpha_real":2,"alpha_imag":-1.5,"beta":1,"dot_dimension_numbers":{"lhs_contracting_dimensions":["0"],"rhs_contracting_dimensions":["1"]}}}
  %g3 = c64[8,8]{1,0} get-tuple-element(%cg), index=0
  %conv = (f16[8,32,32,32]{3,2,1,0}, u8[1048576]{0}) custom-call(%im, %k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convForward", backend_config={"cudnn_conv_backend_config":{"conv_result_scale":1,"activation_mode":"kNone","side_input_scale":0,"algorithm":{"algo_id":"28","math_type":"TENSOR_OP_MATH","tuning_knobs":{"2":"1","3":"0"},"is_cudnn_frontend":true,"workspace_size":"1048576"}}}
  %cv = f16[8,32,32,32]{3,2,1,0} get-tuple-element(%conv), index=0
  %fused = (f16[8,32,32,32]{3,2,1,0}, u8[0]{0}) custom-call(%im, %k, %bias, %cv), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4, custom_call_target="__cudnn$convBiasActivationForward", backend_config={"cudnn_conv_backend_config":{"conv_result_scale":0.125,"activation_mode":"kLeakyRelu","leakyrelu_alpha":0.2,"side_input_scale":2.5,"algorithm":{"algo_id":"1","math_type":"DEFAULT_MATH"}}}
  %cv2 = f16[8,32,32,32]{3,2,1,0} get-tuple-element(%fused), index=0
  ROOT %all = (f32[64,256]{1,0}, f16[8,32,32,32]{3,2,1,0}, c64[8,8]{1,0}, f32[64,256]{1,0}, f16[8,32,32,32]{3,2,1,0}) tuple(%g, %cv, %g3, %g2, %cv2)
}
'''

SHAPES = '''
HloModule shapes, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY %m (a: f32[<=100,7], b: (f32[3], (s4[1000], token[])), c: f8e4m3fn[16,16], d: f32[0,4], e: pred[5], f: u2[9]) -> (f32[<=100,7], f32[3], f8e4m3fn[16,16], f32[4096], f32[4095], f32[3,2]) {
  %a = f32[<=100,7]{1,0:T(8,128)} parameter(0), metadata={op_name="args[0]"}
  %b = (f32[3]{0:T(256)}, (s4[1000]{0:T(8,128)(8,1)E(4)}, token[])) parameter(1), sharding={{devices=[2]<=[2]}, {replicated}, {maximal device=1}}
  %c = f8e4m3fn[16,16]{0,1:T(8,128)(4,1)} parameter(2), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  %d = f32[0,4]{1,0} parameter(3), parameter_replication={true}
  %e = pred[5]{0:T(512)S(3)} parameter(4)
  %f = u2[9]{0:T(128)E(2)} parameter(5)
  %empty = f32[0,4]{1,0} constant({})
  %noth = f32[0,4]{1,0} add(%d, %empty)
  %b0 = f32[3]{0:T(256)} get-tuple-element(%b), index=0
  %eight = f32[8]{0} constant({1, 0.1, -2.5, 1e+30, nan, inf, -inf, 1e-10})
  %nine = f32[9]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9})
  %long = f64[8]{0} constant({1.234567890123456, 2.234567890123456, 3.234567890123456, 4.234567890123456, 5.2, 6.2, 7.2, 8.2})
  %mat = s32[2,3]{1,0} constant({ { 1, -2, 3 }, { 4, 5, 6 } })
  %preds = pred[2,2]{1,0} constant({ { 1, 0 }, { 0, 1 } })
  %cplx = c64[] constant((1, -2.5))
  %small_bf = bf16[3]{0} constant({0.1, 3, 1e+20})
  %tc = (f32[], s32[2]) constant(( 1, {2, 3} ))
  %lit.1 = f32[2]{0} constant({1, 2})
  %use = f32[8]{0} add(%eight, %eight)
  %use2 = f32[9]{0} negate(%nine)
  %use3 = f64[8]{0} negate(%long)
  %use4 = s32[2,3]{1,0} negate(%mat)
  %use5 = pred[2,2]{1,0} not(%preds)
  %use6 = c64[] negate(%cplx)
  %use7 = bf16[3]{0} negate(%small_bf)
  %use8 = f32[] get-tuple-element(%tc), index=0
  %use9 = f32[2]{0} negate(%lit.1)
  %iota.1 = f32[4096]{0} iota(), iota_dimension=0
  %iota.2 = f32[4095]{0} iota(), iota_dimension=0
  %big = f32[4096]{0} exponential(%iota.1)
  %less = f32[4095]{0} exponential(%iota.2)
  %rs = f32[3,1]{1,0} reshape(%b0)
  %cat = f32[3,2]{1,0} concatenate(%rs, %rs), dimensions={1}
  %pad.1 = f32[5,2]{1,0} pad(%cat, %use8), padding=1_1x0_0
  %ds = f32[3,2]{1,0} slice(%pad.1), slice={[1:4], [0:2]}
  %rp = f32[3,2]{1,0} reduce-precision(%ds), exponent_bits=8, mantissa_bits=7
  %rev = f32[3,2]{1,0} reverse(%rp), dimensions={0,1}
  %clamp.1 = f32[3,2]{1,0} clamp(%use8, %rev, %use8)
  %size = s32[] get-dimension-size(%a), dimensions={0}
  %set = f32[<=100,7]{1,0} set-dimension-size(%a, %size), dimensions={0}
  ROOT %tuple = (f32[<=100,7]{1,0}, f32[3]{0:T(256)}, f8e4m3fn[16,16]{0,1:T(8,128)(4,1)}, f32[4096]{0}, f32[4095]{0}, f32[3,2]{1,0}) tuple(%set, %b0, %c, %big, %less, %clamp.1)
}
'''


def wide():
    """More users, operands and edges between two instructions than are drawn."""
    f = 'f32[16]{0}'
    lines = [f'  %x = {f} parameter(0)', f'  %scalar = f32[] constant(1)']
    for k in range(40):
        lines += [f'  %c.{k} = f32[2]{{0}} constant({{{k}, {k + 1}}})', f'  %use.{k} = {f} negate(%x)']
    for k in range(20):
        lines.append(f'  %late.{k} = {f} abs(%use.{k})')
    many = ', '.join(f'%c.{k}' for k in range(40))
    lines.append(f'  %constants = ({", ".join(["f32[2]{0}"] * 40)}) tuple({many})')
    lines.append(f'  %joined = f32[80]{{0}} concatenate({many}), dimensions={{0}}')
    lines.append(f'  %again = f32[1120]{{0}} concatenate({", ".join(["%use.0"] * 70)}), dimensions={{0}}')
    lines.append(f'  %both = f32[48]{{0}} concatenate(%use.1, %x, %late.3), dimensions={{0}}, control-predecessors={{{", ".join(f"%use.{k}" for k in range(2, 30))}}}')
    lines.append('  ROOT %end = (f32[80]{0}, f32[1120]{0}, f32[48]{0}) tuple(%joined, %again, %both)')
    return '\nHloModule wide\n\nENTRY %w (x: f32[16]) -> (f32[80], f32[1120], f32[48]) {\n' + '\n'.join(lines) + '\n}\n'


def collective_fusion():
    """Parameters of an asynchronous collective fusion that only pass through."""
    return '''
HloModule acf

%start_comp (s0: f32[128]) -> (f32[128], f32[128], u32[]) {
  %s0 = f32[128]{0} parameter(0)
  ROOT %cs = (f32[128]{0}, f32[128]{0}, u32[]) custom-call(%s0), custom_call_target="AsyncCollectiveStart"
}

%async_collective_fusion.1 (a0: f32[128], a1: f32[128], a2: u32[], a3: f32[64,64]) -> (f32[64,64], f32[128], f32[128], u32[]) {
  %a0 = f32[128]{0} parameter(0)
  %a1 = f32[128]{0} parameter(1)
  %a2 = u32[] parameter(2)
  %a3 = f32[64,64]{1,0} parameter(3)
  %d = f32[64,64]{1,0} dot(%a3, %a3), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %at = (f32[64,64]{1,0}, f32[128]{0}, f32[128]{0}, u32[]) tuple(%d, %a0, %a1, %a2)
}

%done_comp (d0: f32[128], d1: f32[128], d2: u32[]) -> f32[128] {
  %d0 = f32[128]{0} parameter(0)
  %d1 = f32[128]{0} parameter(1)
  %d2 = u32[] parameter(2)
  ROOT %cd = f32[128]{0} custom-call(%d0, %d1, %d2), custom_call_target="AsyncCollectiveDone"
}

ENTRY %main (x: f32[128], y: f32[64,64]) -> (f32[64,64], f32[128]) {
  %x = f32[128]{0} parameter(0)
  %y = f32[64,64]{1,0} parameter(1)
  %start = (f32[128]{0}, f32[128]{0}, u32[]) fusion(%x), kind=kCustom, calls=%start_comp
  %g0 = f32[128]{0} get-tuple-element(%start), index=0
  %g1 = f32[128]{0} get-tuple-element(%start), index=1
  %g2 = u32[] get-tuple-element(%start), index=2
  %acf = (f32[64,64]{1,0}, f32[128]{0}, f32[128]{0}, u32[]) fusion(%g0, %g1, %g2, %y), kind=kOutput, calls=%async_collective_fusion.1
  %r0 = f32[64,64]{1,0} get-tuple-element(%acf), index=0
  %r1 = f32[128]{0} get-tuple-element(%acf), index=1
  %r2 = f32[128]{0} get-tuple-element(%acf), index=2
  %r3 = u32[] get-tuple-element(%acf), index=3
  %done = f32[128]{0} fusion(%r1, %r2, %r3), kind=kCustom, calls=%done_comp
  ROOT %out = (f32[64,64]{1,0}, f32[128]{0}) tuple(%r0, %done)
}
'''


ONE_OPS = ('negate', 'abs', 'exponential', 'copy', 'tanh', 'bitcast', 'bitcast', 'sqrt')
PAIR_OPS = ('add', 'multiply', 'maximum', 'subtract', 'power')


class Drawn:
    """A program at random: all values are one shape, or tuples of it, so that anything can be tied to anything."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.type = self.rnd.choice(('f32[8,16]{1,0}', 'f32[100,200]{1,0}', 'bf16[]', 'f32[1]{0}'))
        self.plain = self.type.split('{')[0]
        self.done, self.serial = [], 0

    def name(self, stem):
        self.serial += 1
        return f'{stem}.{self.serial}' if self.rnd.random() < 0.8 else f'n{self.serial}'

    def constant(self):
        flat = self.rnd.choice(('1', '2.5', '-3e+20', '0'))
        for n in self.plain[self.plain.index('[') + 1:-1].split(',')[::-1]:
            if n:
                flat = '{' + ', '.join([flat] * int(n)) + '}'
        return flat

    def meta(self):
        rnd = self.rnd
        if rnd.random() < 0.5:
            return ''
        parts = [f'op_name="jit(f)/{rnd.choice(("a", "b<x>", "while/body"))}/op{rnd.randrange(9)}"']
        if rnd.random() < 0.4:
            parts.append(f'op_type="{rnd.choice(("add", "T&U"))}"')
        if rnd.random() < 0.4:
            parts.append(f'source_file="/s/f{rnd.randrange(3)}.py"')
        if rnd.random() < 0.4:
            parts.append(f'source_line={rnd.randrange(99)}')
        return ', metadata={' + ' '.join(parts) + '}'

    def scalar_of(self):
        return self.plain[:self.plain.index('[')] + '[]'

    def reducer(self):
        name, op = self.name('region'), self.rnd.choice(('add', 'maximum', 'minimum', 'multiply', 'power'))
        s, (a, b) = self.scalar_of(), self.rnd.choice((('a', 'b'), ('b', 'a')))
        self.done.append(f'%{name} (a: {s}, b: {s}) -> {s} {{\n  %a = {s} parameter(0)\n  %b = {s} parameter(1)\n  ROOT %r = {s} {op}(%{a}, %{b})\n}}\n')
        return name

    def computation(self, nparams, depth, fused, size):
        """(name, lines): its text goes to self.done, but for that of the entry."""
        rnd, out, values = self.rnd, [], []
        head = self.name('fused' if fused else 'comp')
        for k in range(nparams):
            values.append(self.name('param'))
            out.append(f'%{values[-1]} = {self.type} parameter({k}){self.meta()}')
        for _ in range(size):
            kind = rnd.random()
            pick = lambda: rnd.choice(values[-6:] if rnd.random() < 0.7 else values)
            if not values or kind < 0.1:
                name = self.name('constant')
                out.append(f'%{name} = {self.type} constant({self.constant()})')
            elif kind < 0.18:
                c, name = self.name('constant'), self.name('broadcast')
                out.append(f'%{c} = {self.scalar_of()} constant({rnd.randrange(9)})')
                out.append(f'%{name} = {self.type} broadcast(%{c}), dimensions={{}}{self.meta()}')
            elif kind < 0.4:
                op = rnd.choice(ONE_OPS)
                name = self.name(op)
                out.append(f'%{name} = {self.type} {op}(%{pick()}){self.meta()}')
            elif kind < 0.68 or depth == 0:
                op = rnd.choice(PAIR_OPS)
                name = self.name(op)
                out.append(f'%{name} = {self.type} {op}(%{pick()}, %{pick()}){self.meta()}')
            elif kind < 0.82:
                n = rnd.randrange(1, 4)
                inner = self.computation(n, depth - 1, True, rnd.randrange(1, 7))
                name = self.name('fusion')
                args = ', '.join('%' + pick() for _ in range(n))
                out.append(f'%{name} = {self.type} fusion({args}), kind={rnd.choice(("kLoop", "kInput", "kOutput", "kCustom"))}, calls=%{inner}{self.meta()}')
            elif fused:
                continue
            elif kind < 0.87:
                n = rnd.randrange(1, 4)
                inner = self.computation(n, depth - 1, False, rnd.randrange(1, 7))
                for _ in range(rnd.choice((1, 1, 2))):
                    name = self.name('call')
                    args = ', '.join('%' + pick() for _ in range(n))
                    out.append(f'%{name} = {self.type} call({args}), to_apply=%{inner}{self.meta()}')
                    values.append(name)
            elif kind < 0.92:
                t, n = self.name('tuple'), rnd.randrange(2, 6)
                args = [pick() for _ in range(n)]
                shape = f'({", ".join([self.type] * n)})'
                out.append(f'%{t} = {shape} tuple({", ".join("%" + a for a in args)})')
                for k in range(n):
                    g = self.name('get-tuple-element')
                    out.append(f'%{g} = {self.type} get-tuple-element(%{t}), index={k}')
                    values.append(g)
                continue
            elif kind < 0.96 and self.plain.endswith(']') and self.plain[-2] != '[':
                z, name = self.name('constant'), self.name('reduce')
                rank = self.plain.count(',') + 1
                out.append(f'%{z} = {self.scalar_of()} constant(0)')
                out.append(f'%{name}.r = {self.scalar_of()} reduce(%{pick()}, %{z}), dimensions={{{",".join(map(str, range(rank)))}}}, to_apply=%{self.reducer()}')
                out.append(f'%{name} = {self.type} broadcast(%{name}.r), dimensions={{}}')
            else:
                p, name = self.name('constant'), self.name('conditional')
                yes, no = (self.computation(1, depth - 1, False, rnd.randrange(0, 5)) for _ in range(2))
                out.append(f'%{p} = pred[] constant({rnd.choice(("true", "false"))})')
                out.append(f'%{name} = {self.type} conditional(%{p}, %{pick()}, %{pick()}), true_computation=%{yes}, false_computation=%{no}')
            values.append(name)
        root = values[-1]
        at = next(i for i, line in enumerate(out) if line.startswith(f'%{root} ='))
        out[at] = 'ROOT ' + out[at]
        params = ', '.join(f'p{k}: {self.plain}' for k in range(nparams))
        self.done.append(f'%{head} ({params}) -> {self.plain} {{\n' + '\n'.join('  ' + line for line in out) + '\n}\n')
        return head

    def text(self):
        self.computation(self.rnd.randrange(1, 4), 3, False, self.rnd.choice((3, 12, 60)))
        return 'HloModule drawn\n\n' + '\n'.join(self.done[:-1]) + '\nENTRY ' + self.done[-1]


def texts(seed, ndrawn):
    out = {'fusions': FUSIONS, 'calls': CALLS, 'async': ASYNC, 'libraries': LIBRARIES, 'shapes': SHAPES, 'wide': wide(), 'acf': collective_fusion()}
    out.update((f'drawn-{k}', Drawn(f'{seed}/{k}').text()) for k in range(ndrawn))
    return out


def main():
    from jaxlib import _hlo as xla
    folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for name, text in texts(seed, count).items():
        module = xla.hlo_module_from_text(text)
        with open(os.path.join(folder, name + '.pb'), 'wb') as f:
            f.write(module.as_serialized_hlo_module_proto())


if __name__ == '__main__':
    main()
