#!/usr/bin/env python3
"""Writes golden.json: chats as HuggingFace's apply_chat_template writes them, which is Jinja2 3.1 with these options.

    python3 render.py > golden.json

The templates are made up; they use what those of well-known models use.
"""
import json
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.exceptions import TemplateError

TEMPLATES = {
    "headers": """{{- bos_token }}
{%- if not date is defined %}
    {%- set date = "1 Jan 2020" %}
{%- endif %}
{#- the system's message comes first #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{{- "<|head|>system<|/head|>\\n" + "Today: " + date + "\\n\\n" + system + "<|end|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|head|>' + message['role'] + '<|/head|>\\n' + message['content'] | trim + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|head|>assistant<|/head|>\\n' }}
{%- endif %}
""",
    "turns": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system = false %}{% endif %}"
    "{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles have to alternate') }}{% endif %}"
    "{% if loop.index0 == 0 and system != false %}{% set content = '<<' + system + '>>\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[ASK] ' + content.strip() + ' [/ASK]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "lines": """{% for message in messages %}
  {% if loop.first and message.role != 'system' %}
<|start|>system
You help.<|stop|>
  {% endif %}
<|start|>{{ message.role }}
{{ message.content }}<|stop|>
{% endfor %}
{% if add_generation_prompt %}
<|start|>assistant
{% endif %}
""",
    "namespace": """{% set ns = namespace(users=0, last='') %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.users = ns.users + 1 %}{% set ns.last = m.content %}{% endif %}{% endfor %}{{ ns.users }} {{ ns.last | tojson }}
{%- for m in messages[::-1] %} {{ m['role'] | upper }}{{ ', ' if not loop.last else '.' }}{% endfor %}""",
    "macro": """{% macro turn(who, what) %}<{{ who }}>{{ what }}</{{ who }}>{% endmacro %}{% for m in messages %}{{ turn(m.role, m.content) }}{% if not loop.last %}{{ "\\n" }}{% endif %}{% endfor %}""",
}

CHATS = [
    [("user", "hi ")],
    [("system", "  be kind\n"), ("user", "who are you?"), ("assistant", " nobody "), ("user", "ß “quoted” <b>\n\nmore ")],
    [("user", "a"), ("user", "b")],
    [("system", "only")],
]


def render(template, chat):
    def refuse(why):
        raise TemplateError(why)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda x, **_: json.dumps(x, ensure_ascii=False)
    environment.globals["raise_exception"] = refuse
    try:
        return {"text": environment.from_string(template).render(
            messages=[{"role": r, "content": c} for r, c in chat], add_generation_prompt=True, bos_token="<s>", eos_token="</s>")}
    except TemplateError as e:
        return {"error": str(e)}


print(json.dumps([
    {"name": name, "template": template, "chats": [{"messages": [{"role": r, "content": c} for r, c in chat], **render(template, chat)} for chat in CHATS]}
    for name, template in TEMPLATES.items()], indent=1, ensure_ascii=False))
