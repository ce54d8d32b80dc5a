#!/usr/bin/env python3
"""Writes golden.json.gz: what Jinja2 3.1 makes of templates, with the options that HuggingFace's apply_chat_template has.

    python3 render.py > golden.json.gz
    python3 -W ignore render.py SEED COUNT > other.json.gz    # as many random templates, for JINJA_GOLDEN

The first templates are each for some things of the language, the others are random ones. Where a text is null,
Jinja2 has an error.
"""
import functools, gzip, json, random, re, sys, types, warnings
import values
from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

warnings.simplefilter("ignore")
LISTED = [
    "{{ messages[0].content.split('b')[-1] }}",
    "{{ messages[0].content.split('b') }}",
    '{{ messages[0].content.split() }}',
    "{{ messages[0].content.split('b', 1)[1] }}",
    "{{ messages[0].content.rstrip('\\n') }}|",
    '{{ messages[0].content.lstrip() }}|',
    '{{ messages[0].content.strip() }}|',
    "{{ messages[0].content.strip('\\n ') }}|",
    "{{ messages[0].content.startswith('a') }}",
    "{{ messages[0].content.endswith('b') }}",
    "{{ messages[0].content.replace('b', 'xy') }}",
    "{{ messages[0].content | replace('b', 'xy') }}",
    '{{ messages[0].content.upper() }}',
    '{{ messages[0].content.lower() }}',
    '{{ messages[0].content.title() }}',
    '{{ messages[0].content | title }}',
    '{{ messages[0].content | capitalize }}',
    '{{ messages[0].content | length }}',
    '{{ messages | length }}',
    "{{ messages[0]['content'] | trim }}|",
    "{{ (messages[0]['content'] | trim) ~ 'x' ~ 1 }}",
    "{{ messages[0].role + ': ' + messages[0].content }}",
    '{{ messages[-1].role }}',
    "{{ messages[-1]['role'] == 'user' }}",
    '{{ messages[1:] | length }}',
    '{{ messages[:-1] | length }}',
    '{{ messages[::-1][0].role }}',
    '{{ messages[0].content[0] }}',
    '{{ messages[0].content[-1] }}',
    '{{ messages[0].content[1:3] }}',
    '{{ messages[0].content[::-1] }}',
    "{{ 'a' in messages[0].content }}",
    "{{ 'zz' not in messages[0].content }}",
    "{{ 'role' in messages[0] }}",
    "{{ 'tool_calls' in messages[0] }}",
    '{{ messages[0].tool_calls is defined }}',
    '{{ messages[0].tool_calls is not defined }}',
    '{{ messages[0].tool_calls }}|',
    "{{ messages[0]['tool_calls'] }}|",
    '{{ tools is defined }} {{ tools is none }}',
    '{{ tools }}|',
    '{{ not tools }}',
    '{{ tools is not none and tools | length > 0 }}',
    '{{ messages[0].content is string }}',
    '{{ messages[0] is mapping }}',
    '{{ messages is iterable }} {{ messages[0].content is iterable }}',
    '{{ messages is sequence }} {{ messages[0] is sequence }} {{ messages[0].content is sequence }}',
    "{{ 3 is number }} {{ 3.5 is number }} {{ 'a' is number }} {{ true is number }} {{ true is boolean }}",
    '{{ none is none }} {{ none }} {{ true }} {{ false }} {{ True }} {{ None }}',
    '{{ 1 }} {{ 1.0 }} {{ 1.5 }} {{ 10 / 4 }} {{ 10 / 5 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 2 ** -1 }}',
    '{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 1 - -1 }}',
    "{{ 'a' * 3 }} {{ 'ab' ~ 'c' }} {{ 'a' 'b' }}",
    '{{ [1, 2, 3] }} {{ (1, 2) }} {{ {\'a\': 1} }} {{ [\'a\', "b\'c"] }}',
    '{{ [1, 2] + [3] }}',
    "{{ {'a': 1, 'b': 2}.items() | list }}",
    "{{ {'a': 1, 'b': 2} | items | list }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in {'b': 1, 'a': 2} %}{{ k }};{% endfor %}",
    '{% for k in messages[0] %}{{ k }};{% endfor %}',
    '{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}',
    "{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 3) }}",
    "{{ messages[0].get('content', '') }} {{ messages[0].get('x', 'none') }} {{ messages[0].get('x') }}",
    '{{ messages[0].keys() | list }}',
    '{{ messages[0] | tojson }}',
    '{{ messages | tojson }}',
    '{{ messages[0] | tojson(indent=4) }}',
    '{{ {\'b\': 1, \'a\': [1, 2.0, none, true, \'\xfc<>&\\\'"\\n\\u2028\']} | tojson }}',
    "{{ [] | tojson }} {{ {} | tojson }} {{ 1.0 | tojson }} {{ 'x' | tojson }} {{ 1e20 | tojson }}",
    "{{ messages | map(attribute='role') | list }}",
    "{{ messages | map(attribute='role') | join(', ') }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
    "{{ messages | selectattr('role', '==', 'user') | map(attribute='content') | join('|') }}",
    "{{ messages | rejectattr('role', 'equalto', 'user') | list | length }}",
    "{{ (messages | selectattr('role', 'equalto', 'user') | first).content }}",
    '{{ messages | first }} ',
    '{{ (messages | last).content }}',
    "{{ ['b', 'a'] | sort }} {{ ['b', 'a'] | reverse | list }} {{ [3, 1] | min }} {{ [1, 2] | sum }} {{ [1,1,2] | unique | list }}",
    "{{ 'a' | default('x') }} {{ nope | default('x') }} {{ '' | default('x', true) }} {{ none | default('x') }} {{ none | d('x', true) }}",
    "{{ 'x' if messages[0].role == 'user' else 'y' }}",
    "{{ 'x' if messages[0].role == 'nobody' }}|",
    "{{ messages[0].role == 'user' and 'x' or 'y' }}",
    "{{ '' or 'x' }} {{ 'a' and 'b' }} {{ 0 or [] or 'z' }} {{ not '' }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ 1 != 2 }} {{ 2 >= 2 }}",
    '{{ "a\\nb\\t\'\\"" }} {{ \'\xe9\\u00e9\\x41\\\\n\' }}',
    "{{ 'a' | upper | lower }} {{ 'a,b'.split(',') | join('-') }} {{ ' a ' | trim | length }}",
    "{{ 'abc'.find('c') }} {{ 'abc'.count('b') }} {{ 'abc'.index('b') }} {{ '1'.isdigit() }} {{ 'ab'.isalpha() }}",
    "{{ 'a b c'.split(' ', 1) }} {{ 'a b c'.rsplit(' ', 1) }} {{ 'a\\nb'.splitlines() }} {{ '-'.join(['a', 'b']) }} {{ 'a-b'.partition('-') }}",
    "{{ '<a>' | e }} {{ '<a>' | safe }} {{ '<a>' }}",
    "{{ '12' | int }} {{ 'x' | int }} {{ 3.7 | int }} {{ '3.5' | float }} {{ 3 | string }} {{ 3.14159 | round(2) }} {{ 2.5 | round }} {{ -3 | abs }}",
    '{{ range(3) | list }} {{ range(1, 7, 2) | list }} {{ range(3) | join }}',
    "{{ ['a','b'][0] }} {{ ['a','b'][-1] }} {{ ['a','b'][5] }}|",
    "{{ 'abc'[5:] }}| {{ [1,2,3][1:] }} {{ [1,2,3][:-1] }} {{ [1,2,3,4][::2] }}",
    '{{ namespace(a=1).a }} {{ dict(a=1) }} {{ dict(a=1).a }}',
    '{% set x = 1 %}{% for m in messages %}{% set x = x + 1 %}{% endfor %}{{ x }}',
    '{% set ns = namespace(x=1) %}{% for m in messages %}{% set ns.x = ns.x + 1 %}{% endfor %}{{ ns.x }}',
    '{% set ns = namespace(found=false) %}{% if not ns.found %}{% set ns.found = true %}{% endif %}{{ ns.found }}',
    '{% set x %}a{{ 1 }}b{% endset %}{{ x }}',
    '{% set a, b = 1, 2 %}{{ a }}{{ b }}',
    '{% if x is defined %}a{% else %}b{% endif %}',
    "{% if messages %}a{% endif %}{% if [] %}b{% endif %}{% if '' %}c{% endif %}{% if 0 %}d{% endif %}{% if {} %}e{% endif %}{% if none %}f{% endif %}{% if nope %}g{% endif %}{% if '0' %}h{% endif %}{% if 0.0 %}i{% endif %}{% if ' ' %}j{% endif %}",
    '{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }};{% endfor %}',
    '{% for m in messages %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.previtem.role }}{{ loop.nextitem.role }};{% endfor %}',
    "{% for m in messages if m.role == 'user' %}{{ m.content }}{{ loop.index }}{% else %}none{% endfor %}",
    '{% for m in [] %}x{% else %}none{% endfor %}',
    '{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}',
    '{% for m in messages %}{% if loop.index == 1 %}{% continue %}{% endif %}{{ m.role }}{% endfor %}',
    "{% for m in messages %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    '{% for i in range(messages|length) %}{{ i }}{{ messages[i].role }}{% endfor %}',
    '{% for i in range(messages|length - 1, -1, -1) %}{{ i }}{% endfor %}',
    "{% for c in 'a\xf1b' %}[{{ c }}]{% endfor %}",
    "{% macro f(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ f('1') }}{{ f('1', '2') }}{{ f(b='3', a='4') }}",
    "{%- macro f(a) -%} {{ a }} {%- endmacro -%}|{{ f('1') }}|{{ f('1') | trim }}|",
    '{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}',
    '{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}x{% endcall %}',
    '{% raw %}{{ a }}{% endraw %}',
    '{% filter upper %}abc{% endfilter %}',
    '{% with a = 1 %}{{ a }}{% endwith %}{{ a }}|',
    '{# a comment #}a{#- b -#} c',
    'a {%- if true %} b {%- endif %} c',
    'a {%+ if true %} b {%+ endif %} c',
    '  {% if true %}\\n  x\\n  {% endif %}\\n y',
    '{{ bos_token }}{{ eos_token }}{{ pad_token }}|',
    "{{ raise_exception('bad') }}",
    "{{ messages[0]['content'] is not string }}",
    '{{ add_generation_prompt }} {% if add_generation_prompt is defined and add_generation_prompt %}x{% endif %}',
    "{{ messages[0].role in ['user', 'system'] }} {{ (messages[0].role) not in ['a'] }}",
    '{{ messages[0].nope.deeper }}',
    '{{ messages[9].content }}',
    '{{ messages[9] }}|',
    "{{ messages[0].content|trim == 'a b' }} {{ messages|length > 1 }} {{ messages|length - 1 }}",
    '{{ loop }}|',
    "{{ 'a' is in ['a'] }} {{ 3 is odd }} {{ 4 is even }} {{ 4 is divisibleby 2 }} {{ 'A' is upper }} {{ 'a' is lower }} {{ 1 is sameas 1 }} {{ 1 is eq 1 }} {{ 3 is gt 2 }}",
    '{{ true and not false }} {{ not true or true }}',
    "{{ messages[0].content ~ none ~ true ~ 1.0 ~ [1, 'a'] }}",
    "{{ 'x' if not messages[0].content.startswith('z') and messages[0].role != 'tool' else 'y' }}",
    "{{ messages[0].content.split('</think>')[-1].lstrip('\\n') }}",
    "{% set content = messages[0].content %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ content }}",
    "{{ [1, 2] | map('string') | list }} {{ ['a'] | map('upper') | list }} {{ [0, 1] | select | list }} {{ [1, 2, 3] | select('odd') | list }} {{ [0, 1] | reject('odd') | list }}",
    "{{ {'a': {'b': 2}}.a.b }} {{ {'a': [1]}['a'][0] }}",
    "{{ 5 | string | length }} {{ 'a' + 1 | string }} {{ (1, 2)[0] }} {{ 1_000 }}",
    "{% if messages[0].role == 'user' -%}  a  {%- elif true -%} b {%- else -%} c {%- endif %}",
    '{%- for message in messages -%}\\n{{ message.role }}\\n{%- endfor -%}',
    '{{ \'\\\\\' }} {{ \'\\\'\' }} {{ "\\"" }} {{ \'\\t\' | tojson }}',
    '{{ 1 if true else 2 if false else 3 }} {{ (1 if false else 2) + 1 }}',
    '{{ {\'a\': none} }} {{ [none, true, 1.5, \'x\', "it\'s"] }} {{ [\'\xe9\', \'\\n\'] }} {{ {\'k\': [1, {\'z\': \'y\'}]} }}',
    "{{ 'abc'.find('c') }} {{ 'abc'.count('b') }} {{ 'abc'.index('b') }}",
    "{{ 'abc'.index('z') }}",
    "{{ 'a' | indent(4) }} {{ 'a\\nb' | indent(2) }} {{ 'a\\nb\\n\\nc\\n' | indent(2, true) }} {{ 'a\\n\\nb' | indent('->', blank=true) }}",
    "{{ 'a'|list }} {{ 'abc' | first }} {{ 'abc' | last }} {{ 'abc' | reverse }}",
    '{{ 1e3 }} {{ 0.1 + 0.2 }} {{ 1e20 }} {{ 1/3 }} {{ 1e-7 }} {{ 123456789.0 }} {{ 5.0 // 2 }} {{ 9223372036854775807 }} {{ 0x1f }} {{ 0b11 }} {{ 0o17 }}',
    "{{ {'a': 1} | length }} {{ {'a': 1} | list }} {{ messages[0].content | list | length }}",
    '{% for k, v in [(1, 2), (3, 4)] %}{{ k }}{{ v }}{% endfor %}{% for (k, v) in [[1, 2]] %}{{ k }}{{ v }}{% endfor %}',
    '{% for k, v in [(1, 2, 3)] %}{% endfor %}',
    '{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}|{% set x.y = 1 %}',
    '{% set x | upper %}a{{ 1 }}{% endset %}{{ x }}',
    "{% filter upper | replace('A', 'z') %}abc{% endfilter %}",
    '{% call(a) f() %}[{{ a }}]{% endcall %}',
    "{% macro f() %}{{ caller('q') }}{% endmacro %}{% call(a, b='d') f() %}[{{ a }}{{ b }}]{% endcall %}",
    '{% macro f(a) %}{{ a }}{% endmacro %}{{ f() }}|{{ f(1, 2) }}',
    '{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=1) }}',
    'a\r\nb\rc\n\n',
    '{%- raw -%} {{ x }} {%- endraw -%} y',
    '{% raw +%}a{% endraw %}',
    'x\n  {% raw %}\n y {% endraw %}\n z',
    '{#- a -#} b {#+ c #}\n d\n  {# e #}\n f',
    '  {{- 1 -}}  \n  {{ 2 }}  \n {{+ 3 }}',
    '{{ \'ab\' \'cd\' "e" }}',
    "{{ '\\x41\\u00e9\\U0001F642\\101\\q\\\n' }}",
    '{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ loop.index }}{% else %}none{% endfor %}',
    '{% for i in [1, 2] %}{% break %}{% else %}none{% endfor %}',
    '{% if true %}{% set x = 1 %}{% endif %}{{ x }}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}',
    '{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}',
    '{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}|',
    "{{ nope is callable }} {{ range is callable }} {{ 'a' is callable }}",
    "{{ [1, 2, 3][none:2] }} {{ 'abcdef'[1:-1:2] }} {{ 'abc'[::-1] }} {{ (1, 2, 3)[1:] }} {{ [1, 2, 3][-9:9] }} {{ [1, 2][5:] }}",
    '{{ [1, 2][::0] }}',
    '{{ 7 // 0 }}',
    '{{ 7 % 0 }}',
    '{{ 1.0 / 0 }}',
    '{{ -7 % 3 }} {{ 7 % -3 }} {{ -7.5 % 2 }} {{ 7.5 // -2 }} {{ 2 ** 10 }} {{ 2 ** 0.5 }} {{ (-2) ** 3 }} {{ 0 ** 0 }} {{ true + true }}',
    "{{ 'a' + 1 }}",
    "{{ 'a' < 1 }}",
    "{{ -'a' }}",
    "{{ 1 in 'abc' }}",
    "{{ 'a' in 3 }}",
    '{{ nope + 1 }}',
    '{{ nope.a }}',
    '{{ nope() }}',
    "{{ nope['a'] }}",
    '{{ 3() }}',
    "{{ none.a }}|{{ none['a'] }}|{{ 3.5.a }}",
    "{{ [3, 1, 2] | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ messages | sort(attribute='role') | map(attribute='role') | list }}",
    "{{ ['a', 'A', 'b'] | unique | list }} {{ ['a', 'A'] | unique(true) | list }} {{ [3, 1] | max }} {{ ['a', 'B'] | min }} {{ [] | min }}|{{ [1.5, 2] | sum }} {{ messages | sum('x', start=1) }}",
    "{{ messages | map(attribute='nope', default='d') | list }} {{ messages | map(attribute='content.0') | list }} {{ messages | map('length') | list }}",
    "{{ [1, 'a'] | sort }}",
    "{{ {'b': 1, 'a': 2} | dictsort(by='value') }} {{ {'b': 2, 'A': 1} | dictsort(true) }} {{ {'a': 1} | dictsort(reverse=true) }}",
    "{{ 'x' | nofilter }}",
    "{{ 'x' is notest }}",
    '{% nostatement %}',
    "{{ 'x' | trim(1, 2) }}",
    "{{ 'x' | trim(nope=1) }}",
    "{{ 'x'.split('') }}",
    "{{ 'a-b'.partition('') }}",
    "{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 7 | round }} {{ 2.1 | round(0, 'ceil') }} {{ 2.19 | round(1, 'floor') }} {{ '12' | int }} {{ '1_0' | int }} {{ ' 7 ' | int }} {{ '3.9' | int }} {{ 'x' | int(5) }} {{ 'x' | float(1.5) }} {{ none | int }} {{ '1e3' | float }} {{ -3 | abs }} {{ 3 | float }}",
    '{{ nope | int }}',
    "{{ messages | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ {} | tojson(indent=2) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ {'a': 1} | tojson(separators=(',', ':')) }} {{ '\xe9\\x7f\U0001f642' | tojson(ensure_ascii=true) }} {{ {1: 2, none: 3, true: 4} | tojson }} {{ 'a\\x01\\x7f' | tojson }}",
    '{{ nope | tojson }}',
    '{{ [\'\xe9\', \'\\x01\', \'\\u200b\', \'\\n\', \'\\\'\', \'\\\'"\', \'\\\\\', \'\\U000e0001\'] }} {{ (1,) }} {{ () }} {{ [nope] }} {{ {\'a\': 1.0, \'b\': (1, 2)} }}',
    '{{ \'\u0130\u0131\xdf\u01c6\'.upper() }} {{ \'\u0391\u03a3\'.lower() }} {{ \'\u01c6a 1b\'.title() }} {{ \'\xdfa\'.capitalize() }} {{ \'a b-c(d\' | title }} {{ "they\'re" | title }} {{ "they\'re".title() }}',
    "{{ 'a\\r\\nb\\x0bc\\u2028d\\n'.splitlines() }} {{ ''.splitlines() }} {{ ' a  b '.split() }} {{ 'aXbXc'.rsplit('X', 1) }} {{ 'aXbXc'.split('X', 0) }} {{ 'aXbXc'.rpartition('X') }} {{ 'abc'.rpartition('X') }} {{ 'abc'.partition('X') }}",
    "{{ 'abcabc'.rfind('c') }} {{ '\xe9b'.find('b') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'aa'.count('') }} {{ 'xxaxx'.strip('x') }} {{ 'abc'.startswith(('x', 'a')) }} {{ ','.join(['a', 'b']) }}",
    "{{ ','.join([1]) }}",
    '{{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }} {{ (1, 2).index(3) }}',
    "{{ {'a': 1}.get('a') }} {{ {1: 'x'}[1.0] }} {{ {1: 'x'}[true] }} {{ {'a': 1}.values() | list }}",
    '{{ {[1]: 2} }}',
    "{{ 1 is sameas 1 }} {{ 1 is sameas 1.0 }} {{ none is sameas none }} {{ 6 is divisibleby 3 }} {{ 'aB' is lower }} {{ 2 is in [1, 2] }} {{ 1 is not in [1] }} {{ 3 is lessthan 4 }}",
    "{{ 1 == 1.0 == true }} {{ [1] == [1.0] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1.0} }} {{ 'a' == nope }} {{ nope == nope2 }} {{ [1, 2] < [1, 3] }} {{ (1, 2) < (1, 2, 3) }}",
    "{{ 'x' if false }}|{{ ('x' if false) is defined }} {{ 1 if true else 2 if false else 3 }}",
    "{{ (1, 2) + (3,) }} {{ [1] * 2 }} {{ 2 * 'ab' }} {{ 'a' * -1 }} {{ 2 * (1,) }}",
    "{{ 'a' ~ 1 + 2 }} {{ 1 ~ 2 * 3 }} {{ -1 | abs }} {{ - 2 ** 2 }} {{ not 1 == 2 }} {{ 1 + 2 ~ 3 }} {{ 2 * 3 ** 2 }}",
    '{{ range(5)[1:3] | list }} {{ range(3)[-1] }} {{ loop }}|',
    "{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ namespace(a=1).a }}",
    "{{ messages[0]['items'] is defined }} {{ messages[0].items is defined }} {{ messages[0]['role'] }}",
    '{% if 1 %}',
    '{% endif %}',
    '{% for x %}{% endfor %}',
    '{{ (1 }}',
    '{{ 1 ) }}',
    '{{ }}',
    '{{ 1',
    '{% if %}{% endif %}',
    "{{ 'a }}",
    '{{ a b }}',
    '{% else %}',
    '{% for i in [1] %}{% endif %}',
    '{{ a.1.b }}',
    '{{ a. }}',
    '{{ [1,, 2] }}',
    '{{ {1} }}',
    '{{ a[] }}',
    '{% set 1 = 2 %}',
    '{% macro %}{% endmacro %}',
    '{{ $ }}',
    '{% break %}',
    '{{ f(a=1, 2) }}',
    '{{ f(a=1, a=2) }}',
    '{% raw %}x',
    '{# x',
]

seed, count = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 1 else (5, 4000)
R = random.Random(seed)
pick = R.choice


def lit():
    return pick(["'a b'","'é'","\"x\"","''","' \\n '","1","0","2","-3","1.5","true","false","none","[1, 'a', none]","[]","{'a': 1, 'b': [2]}","{}","(1, 2)","'aXbXc'","nope","messages","messages[0]","messages[0].content","messages[0].role","bos_token","x","ns.v","loop.index","loop.first","'A'","3","10","'12'","['b','A','c','a']","[3,1,2]","{'z': 1, 'y': 'q'}","'<&>\"'","0.1","7.0","1e3","tools"])
METH=["strip()","lstrip()","rstrip('\\n ')","split('X')","split()","split('X', 1)","rsplit('X', 1)","upper()","lower()","title()","capitalize()","startswith('a')","endswith(('c','b'))","replace('a', 'zz')","replace('X', '', 1)","items()|list","keys()|list","values()|list","get('a')","get('q', 'dflt')","find('b')","count('X')","splitlines()","isdigit()","partition('X')","rpartition('X')","removeprefix('a')","removesuffix('c')","isalpha()","isupper()","islower()","isspace()","isalnum()","join(['q','r'])","casefold()","strip('ac')","index('a')","rfind('X')","isnumeric()"]
FILT=["trim","upper","lower","capitalize","title","length","first","last","list","join(', ')","replace('a','b')","string","default('d')","default('d', true)","int","float","abs","round","round(1)","sort","sort(reverse=true)","reverse","reverse|list","unique|list","min","max","sum","tojson","tojson(indent=2)","map('upper')|list","map('string')|join","select|list","reject('none')|list","selectattr('role','equalto','user')|list","map(attribute='role')|list","rejectattr('content')|list","indent(2)","indent","items|list","dictsort","e","safe","count","d('q')","map('length')|list","select('in',[1,'a'])|list","join","first|upper","tojson(separators=(',',':'))","tojson(sort_keys=true)","indent(2,true)","round(0,'ceil')","int(5)","string|length","trim('a')"]
TEST=["defined","undefined","none","string","number","mapping","sequence","iterable","boolean","true","false","integer","float","odd","even","divisibleby 2","eq 1","equalto('a')","in [1,'x']","lower","upper","sameas none","callable","gt 1","ne 'x'"]
BIN=["+","-","*","/","//","**","~","==","!=","<",">","<=",">=","in","not in","and","or","~","+"]
def ex(d=0):
    k=R.random()
    if d>3 or k<.25: return lit()
    if k<.4: return "%s %s %s"%(ex(d+1),pick(BIN),ex(d+1))
    if k<.45: return "(%s)"%ex(d+1)
    if k<.55: return "%s.%s"%(lit(),pick(METH))
    if k<.7: return "%s|%s"%(ex(d+1) if R.random()<.5 else lit(),pick(FILT))
    if k<.76: return "(%s is %s%s)"%(lit(),pick(["","not "]),pick(TEST))
    if k<.78: return "%s[%s]"%(lit(),pick(["0","-1","1","'a'","5","'role'"]))
    if k<.81: return "%s[%s]"%(pick(["messages","'aXbXc'","[3,1,2]","(1, 2)","messages[0].content","'é'"]),pick(["1:","::-1",":-1","-2:","::2","1:2","-5:","3:0:-1","none:","::-2"]))
    if k<.86: return "%s if %s else %s"%(ex(d+1),ex(d+1),ex(d+1))
    if k<.89: return "(not %s)"%ex(d+1)
    if k<.92: return "-%s"%lit()
    if k<.95: return "[%s, %s]"%(ex(d+1),ex(d+1))
    if k<.97: return "{%s: %s}"%(pick(["'k'","1","true","none","1.0","'a'~1"]),ex(d+1))
    return "%s < %s <= %s"%(ex(d+1),ex(d+1),ex(d+1))
def sg(): return pick(["","","","-","+"])
def se(): return pick(["","","","-","+"])
def ve(): return pick(["","","-"])
def txt(): return "".join(pick(["a","b "," ","\n","  \n"," \n  ","\t","\r\n","{","é","  ","%}","}}","%"]) for _ in range(R.randrange(5)))
def st(d,loop=False):
    k=R.random()
    b=lambda l=loop: tpl(d+1,l)
    def blk(h,body,end): return "{%%%s %s %s%%}%s{%%%s %s %s%%}"%(sg(),h,se(),body,sg(),end,se())
    if d>2 or k<.3: return "{{%s %s %s}}"%(pick(["","","-"]),ex(1),ve())
    if k<.42: return blk("if "+ex(1),b(),"endif")
    if k<.5: return "{%%%s if %s %s%%}%s{%%%s elif %s %s%%}%s{%%%s else %s%%}%s{%%%s endif %s%%}"%(sg(),ex(1),se(),b(),sg(),ex(1),se(),b(),sg(),se(),b(),sg(),se())
    if k<.6: return blk("for m in "+pick(["messages","[1,2,3]","'ab'","{'p':1,'q':2}","messages if m.role == 'user'","range(3)","[]","messages[::-1]","x","1, 2"]),b(True)+pick(["","{% else %}none"]) ,"endfor")
    if k<.64: return blk("for k, v in "+pick(["{'p':1,'q':2}.items()","[(1,2),(3,4)]","{'b':1,'a':2}|dictsort","[[1,2]]"]),"{{k}}={{v}};"+b(True),"endfor")
    if k<.74: return "{%%%s set %s = %s %s%%}"%(sg(),pick(["x","x","ns.v","y"]),ex(1),se())
    if k<.77: return blk("set x"+pick([""," | upper"]),b(False),"endset")
    if k<.81: return "{#%s %s %s#}"%(sg(),pick(["note","a\nb"," ","{{ x }}"]),se())
    if k<.85: return blk("macro f(a, b=%s)"%lit(),"<{{a}}{{b}}>"+tpl(d+1,False),"endmacro")+pick(["{{ f(1) }}","{{ f('q', b=2) }}","{{ f(b=1, a=2)|length }}","{{ f() }}"])
    if k<.88: return blk("filter upper",b(False),"endfilter")
    if k<.91: return blk("with x = "+ex(1),b(),"endwith")
    if k<.94: return blk("raw",pick(["{{ x }}","{% if %}"," a \n"]),"endraw")
    if k<.97 and loop: return "{%% if loop.index %s 2 %%}{%% %s %%}{%% endif %%}"%(pick(["==",">","<"]),pick(["break","continue"]))
    return "{{ loop.index }}{{ x }}{{ ns.v }}"
def tpl(d=0,loop=False): return "".join(pick([txt,lambda: st(d,loop)])() for _ in range(R.randrange(1,4 if d else 6)))

CHATS = [[("user", " a b ab\n")], [("system", "é B"), ("user", "hi"), ("assistant", "<x> 'y' \"z\"")]]


def refuse(why): raise TemplateError(why)


TEXT_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "center", "forceescape", "e", "escape", "safe", "string", "striptags", "wordcount", "replace", "join"]
unknown = []


def known(f):  # what Python writes of iterators has their addresses
    @functools.wraps(f)
    def g(*args, **kwargs):
        unknown.extend(v for v in args if isinstance(v, (types.GeneratorType, type(reversed([])))) and f.__name__ not in ("sync_do_join", "do_join"))
        return f(*args, **kwargs)
    return g


def render(template, chat):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    environment.globals["raise_exception"] = refuse
    for name in TEXT_FILTERS:
        environment.filters[name] = known(environment.filters[name])
    try:
        return environment.from_string(template).render(messages=[{"role": r, "content": c} for r, c in chat], tools=None, documents=None,
                                                        add_generation_prompt=True, bos_token="<s>", eos_token="</s>")
    except Exception:
        return None


def random_template():
    if R.random() < .5:
        return values.template(R)
    return "{% set ns = namespace(v=1) %}" + tpl() if R.random() < .5 else "{{ " + ex() + " }}"


def foreign(texts):  # objects of Python, which have their addresses
    plain = re.sub(r"\W", "", str(texts)).lower()
    return re.search("0x[0-9a-f]{8}", plain) or any(w in plain for w in ("generator", "reversedobject", "rotareneg", "namespace", "builtin", "boundmethod", "function", "<macro", "markup"))


cases = []
for template in ([] if len(sys.argv) > 1 else LISTED) + [random_template() for _ in range(count)]:
    unknown.clear()
    texts = [render(template, chat) for chat in CHATS]
    if not unknown and not foreign(texts) and len(template) < 250 or template in LISTED:
        cases.append([template, *texts])
chats = [[{"role": r, "content": c} for r, c in chat] for chat in CHATS]
sys.stdout.buffer.write(gzip.compress(json.dumps({"chats": chats, "cases": cases}, ensure_ascii=False).encode(), 9, mtime=0))
