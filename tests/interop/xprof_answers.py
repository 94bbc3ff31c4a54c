"""Ask XProf itself: xprof_answers.py REQUESTS OUT, run by the python that has xprof 2.24.2 installed.

REQUESTS is JSON: [{"id", "files": [...], "tool", "params": {...}}]; OUT gets one JSON line per request: {"id", "answer": text or null,
"error": text}; of a request with "binary" {"id", "hex", "error"}. Each file set lies in a folder of its own, where XProf may write its caches.
"""
import json
import sys


def main():
    from xprof.convert import raw_to_tool_data
    with open(sys.argv[1]) as f:
        requests = json.load(f)
    with open(sys.argv[2], 'w') as out:
        for r in requests:
            reply = {'id': r['id'], 'answer': None, 'error': ''}
            try:
                data, _ = raw_to_tool_data.xspace_to_tool_data(r['files'], r['tool'], r['params'])
                if r.get('binary') and data is not None:
                    reply['hex'] = (data.encode() if isinstance(data, str) else data).hex()
                elif data is not None:
                    reply['answer'] = data if isinstance(data, str) else data.decode()
            except Exception as e:      # what it cannot do is not compared
                reply['error'] = f'{type(e).__name__}: {e}'
            out.write(json.dumps(reply) + '\n')
            out.flush()                 # a crash in native code leaves what came before


if __name__ == '__main__':
    main()
