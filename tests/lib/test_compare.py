#!/usr/bin/env python3
"""What counts as equal: the comparison of the parity tests, tested itself."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare


def table(rows, ids=('name', 'n')):
    return {'cols': [{'id': i, 'type': 'string' if i == 'name' else 'number', 'label': 'Some label'} for i in ids],
            'rows': [{'c': [{'v': v} for v in row]} for row in rows], 'p': {'total': '1.0%'}}


def share(ref, got):
    return compare.compare(ref, got).share


class Leaves(unittest.TestCase):
    CASES = [
        (1, 1.0, True), (1.0, 1.0000005, True), (1.0, 1.00001, False), (0, 1e-10, True), (1, True, False),
        (None, None, True), (None, 0, False), (True, True, True), ('a', 'b', False), (2, '2.0', True), ('2', 3, False),
        ('12.3%', '12.4%', True), ('12.3%', '12.5%', False), ('12.3%', '12.3', False), ('4.50 ms', '4.51 ms', True),
        ('1', '2', True), ('1', '3', False), ('fusion.1', 'fusion.2', False),
        ('fusion.1 and its duplicate(s)', 'fusion.7 and its duplicate(s)', True),
        ('You may skip the rest of this page.', 'Nothing more to see.', True),
        ('You may skip the rest of this page.', ' ', False), (compare.TEXT, 'x', True), (compare.TEXT, '', False),
        ('<b>x</b>', 'y', True), (float('nan'), 1, False),
    ]

    def test_each(self):
        for ref, got, equal in self.CASES:
            with self.subTest(ref=ref, got=got):
                self.assertEqual(compare.leaf_equal(ref, got), equal)


class Containers(unittest.TestCase):
    def test_lost_values_count(self):
        self.assertEqual(share({'a': 1, 'b': [1, 2, 3]}, {'a': 1}), 0.25)
        self.assertEqual(share([1, 2], [1]), 0.5)
        self.assertEqual(share({'a': 1}, None), 0)

    def test_extra_values_are_free(self):
        self.assertEqual(share({'a': 1}, {'a': 1, 'b': 2}), 1)

    def test_cosmetics_are_free(self):
        self.assertEqual(share({'a': 1, 'tooltip': 'x'}, {'a': 1}), 1)

    def test_rows_in_any_order(self):
        ref = table([('x', 1), ('y', 2), ('x', 3)])
        self.assertEqual(share(ref, table([('y', 2), ('x', 1), ('x', 3)])), 1)
        tally = compare.compare(ref, table([('y', 2), ('x', 1)]))
        self.assertEqual((tally.total, tally.equal), (9, 7))

    def test_rows_without_names_by_position(self):
        ref = table([(1, 2), (3, 4)], ('m', 'n'))
        self.assertEqual(share(ref, ref), 1)
        self.assertLess(share(ref, table([(3, 4), (1, 2)], ('m', 'n'))), 1)

    def test_columns_in_any_order(self):
        self.assertEqual(share(table([('x', 1)]), table([(1, 'x')], ('n', 'name'))), 1)

    def test_trees_by_name_and_time(self):
        node = lambda name, time, *children: {'name': name, 'metrics': {'rawTime': time}, 'children': list(children)}
        ref = node('all', 3, node('a.1', 2), node('a.2', 1))
        self.assertEqual(share(ref, node('all', 3, node('a.2', 1), node('a.1', 2))), 1)
        self.assertLess(share(ref, node('all', 3, node('a.1', 2))), 1)

    def test_names_in_any_order(self):
        self.assertEqual(share(['a', 'b'], ['b', 'a']), 1)
        self.assertEqual(share(['a', 'b'], ['b', 'c']), 0.5)

    def test_traces_as_multisets(self):
        event = lambda name, ts: {'ph': 'X', 'pid': 1, 'tid': 2, 'name': name, 'ts': ts, 'dur': 1.5, 'args': {}}
        meta = {'ph': 'M', 'pid': 1, 'name': 'process_name', 'args': {'name': 'host'}}
        ref = {'traceEvents': [meta, event('a', 1), event('a', 1), event('b', 2)]}
        self.assertEqual(share(ref, {'traceEvents': [event('b', 2), event('a', 1), event('a', 1.0001), meta]}), 1)
        self.assertEqual(share(ref, {'traceEvents': [meta, event('a', 1), event('b', 2)]}), 0.75)
        self.assertEqual(share(ref, {'traceEvents': []}), 0)


class Masking(unittest.TestCase):
    def test_prose_goes_names_stay(self):
        prose = 'Your program is not input-bound because of that.'
        self.assertEqual(compare.mask({'a': prose, 'b': 'fusion.1', 'link': 'x'}), {'a': compare.TEXT, 'b': 'fusion.1'})

    def test_masked_values_equal_the_originals(self):
        original = table([('x', 1), ('y', 2)])
        self.assertEqual(share(compare.mask(original), original), 1)
        self.assertNotIn('label', compare.mask(original)['cols'][0])


if __name__ == '__main__':
    result = unittest.main(exit=False, verbosity=1).result
    bad = len(result.failures) + len(result.errors)
    print(f'{result.testsRun - bad} passed, {bad} failed')
    sys.exit(bad > 0)
