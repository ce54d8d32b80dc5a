package jinja

import "testing"

// A conversation is a chat template as a model may have it, with chats and what the model then reads.
type conversation struct {
	name     string
	template string
	chats    []chatCase
}

// A chatCase is a chat with its text; without one the template refuses it, in these words.
type chatCase struct {
	messages []map[string]any
	more     map[string]any // values beside the messages
	text     string
	refusal  string
}

func said(role, content string) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// checkConversations renders each chat with the values that a tokenizer gives its template.
func checkConversations(t *testing.T, all []conversation) {
	t.Helper()
	for _, c := range all {
		for _, chat := range c.chats {
			values := map[string]any{"messages": chat.messages, "bos_token": "<s>", "eos_token": "</s>", "tools": nil, "add_generation_prompt": true}
			for name, v := range chat.more {
				values[name] = v
			}
			got, err := render(c.template, values)
			if chat.refusal != "" {
				if err == nil || err.Error() != chat.refusal {
					t.Errorf("%s is %q, %v, want the error %q", c.name, got, err, chat.refusal)
				}
				note(t, c.template, nil, values)
				continue
			}
			if err != nil || got != chat.text {
				t.Errorf("%s is\n%q, %v, want\n%q", c.name, got, err, chat.text)
			}
			note(t, c.template, &chat.text, values)
		}
	}
}

func TestChatsWithHeaders(t *testing.T) {
	checkConversations(t, []conversation{{
		name: "a header before each message, and one where the answer begins",
		template: `{{- bos_token }}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = '' %}
{%- endif %}
{#- the system's message is always there, though it may be empty #}
{{- '<|start|>system<|end|>\n\n' ~ system ~ '<|eot|>' }}
{%- for message in messages %}
    {%- if message.role not in ['user', 'assistant'] %}
        {{- raise_exception('Role ' ~ message.role ~ ' is not known') }}
    {%- endif %}
    {{- '<|start|>' + message['role'] + '<|end|>\n\n' + message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant<|end|>\n\n' }}
{%- endif %}
`,
		chats: []chatCase{
			{
				messages: []map[string]any{said("system", " Be brief.\n"), said("user", "Hello"), said("assistant", "Hi "), said("user", "Bye")},
				text: "<s><|start|>system<|end|>\n\nBe brief.<|eot|><|start|>user<|end|>\n\nHello<|eot|><|start|>assistant<|end|>\n\nHi<|eot|>" +
					"<|start|>user<|end|>\n\nBye<|eot|><|start|>assistant<|end|>\n\n",
			},
			{
				messages: []map[string]any{said("user", "Hello")},
				text:     "<s><|start|>system<|end|>\n\n<|eot|><|start|>user<|end|>\n\nHello<|eot|><|start|>assistant<|end|>\n\n",
			},
			{
				messages: []map[string]any{said("user", "Hello")},
				more:     map[string]any{"add_generation_prompt": false},
				text:     "<s><|start|>system<|end|>\n\n<|eot|><|start|>user<|end|>\n\nHello<|eot|>",
			},
			{
				messages: []map[string]any{said("user", "Hello"), said("critic", "No")},
				refusal:  "line 12: Role critic is not known",
			},
		},
	}})
}

func TestChatsInBrackets(t *testing.T) {
	checkConversations(t, []conversation{{
		name: "instructions in brackets, in which the system's message is the beginning of the first one",
		template: `{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("After the optional system message, roles must alternate") }}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"] | trim + eos_token }}
    {%- endif %}
{%- endfor %}`,
		chats: []chatCase{
			{
				messages: []map[string]any{said("system", "Rhyme."), said("user", "Hello"), said("assistant", "Yellow\n"), said("user", "Bye")},
				text:     "<s>[INST] Hello[/INST] Yellow</s>[INST] Rhyme.\n\nBye[/INST]",
			},
			{
				messages: []map[string]any{said("user", "Hello")},
				text:     "<s>[INST] Hello[/INST]",
			},
			{
				messages: []map[string]any{said("user", "Hello"), said("user", "Hello?")},
				refusal:  "line 9: After the optional system message, roles must alternate",
			},
			{
				messages: []map[string]any{said("system", "Rhyme."), said("assistant", "Hello?")},
				refusal:  "line 9: After the optional system message, roles must alternate",
			},
		},
	}, {
		name: "the same in the words of an older model, with a namespace",
		template: "{% set ns = namespace(system='', found=false) %}" +
			"{% for m in messages %}{% if m.role == 'system' and not ns.found %}{% set ns.system = '<<SYS>>\n' ~ m.content ~ '\n<</SYS>>\n\n' %}{% set ns.found = true %}{% endif %}{% endfor %}" +
			"{% for m in messages if m.role != 'system' %}" +
			"{% if m.role == 'user' %}{{ bos_token ~ '[INST] ' ~ (ns.system if loop.first else '') ~ m.content.strip() ~ ' [/INST]' }}" +
			"{% else %}{{ ' ' ~ m.content.strip() ~ ' ' ~ eos_token }}{% endif %}{% endfor %}",
		chats: []chatCase{
			{
				messages: []map[string]any{said("system", "Rhyme."), said("user", " Hello "), said("assistant", "Yellow"), said("user", "Bye")},
				text:     "<s>[INST] <<SYS>>\nRhyme.\n<</SYS>>\n\nHello [/INST] Yellow </s><s>[INST] Bye [/INST]",
			},
			{
				messages: []map[string]any{said("user", "Hello")},
				text:     "<s>[INST] Hello [/INST]",
			},
		},
	}})
}

func TestChatsWithThoughts(t *testing.T) {
	const template = `{%- set ns = namespace(last_query=messages | length - 1, searching=true) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == 'user' %}
        {%- set ns.searching = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role in ('user', 'system') %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set thoughts = '' %}
        {%- if message.thoughts is string %}
            {%- set thoughts = message.thoughts %}
        {%- elif '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and thoughts)) %}
            {{- '<|im_start|>assistant\n<think>\n' + thoughts.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}`
	checkConversations(t, []conversation{{
		name:     "thoughts that are forgotten once there is another question",
		template: template,
		chats: []chatCase{
			{
				messages: []map[string]any{said("user", "Two and two?"), said("assistant", "<think>\nIt is four.\n</think>\n\nFour."), said("user", "Sure?")},
				text:     "<|im_start|>user\nTwo and two?<|im_end|>\n<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n",
			},
			{
				messages: []map[string]any{said("user", "Two and two?"), said("assistant", "<think>\nIt is four.\n</think>\n\nFour.")},
				more:     map[string]any{"add_generation_prompt": false},
				text:     "<|im_start|>user\nTwo and two?<|im_end|>\n<|im_start|>assistant\n<think>\nIt is four.\n</think>\n\nFour.<|im_end|>\n",
			},
			{
				messages: []map[string]any{said("user", "Hm"), {"role": "assistant", "content": "\nFour.", "thoughts": "\nIt is\n"}},
				more:     map[string]any{"add_generation_prompt": false},
				text:     "<|im_start|>user\nHm<|im_end|>\n<|im_start|>assistant\n<think>\nIt is\n</think>\n\nFour.<|im_end|>\n",
			},
			{
				messages: []map[string]any{{"role": "user", "content": nil}},
				more:     map[string]any{"enable_thinking": false},
				text:     "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
			},
			{
				messages: []map[string]any{said("user", "a")},
				more:     map[string]any{"enable_thinking": true},
				text:     "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n",
			},
		},
	}})
}

func TestChatsWithChannels(t *testing.T) {
	const template = `{%- macro parameter_type(spec) -%}
    {%- if spec.type == "array" -%}
        {{- parameter_type(spec["items"]) }}[]
    {%- elif spec.enum is defined -%}
        {{- '"' + spec.enum | join('" | "') + '"' }}
    {%- elif spec.type is not string and spec.type is iterable -%}
        {{- spec.type | join(" | ") }}
    {%- else -%}
        {{- spec.type | default("any") }}
    {%- endif -%}
{%- endmacro -%}
{%- macro functions(tools) -%}
    {{- "namespace functions {\n" }}
    {%- for tool in tools %}
        {{- "// " + tool.description + "\ntype " + tool.name + " = (" }}
        {%- for name, spec in tool.parameters.items() -%}
            {{- "\n" ~ name ~ ("" if spec.required else "?") ~ ": " ~ parameter_type(spec) }}
            {%- if not loop.last %},{% endif %}
        {%- endfor %}
        {{- "\n) => any;\n" }}
    {%- endfor %}
    {{- "}" }}
{%- endmacro -%}
{{- "<|start|>system<|message|>Reasoning: " ~ (effort | default("medium")) }}
{%- if tools %}{{ "\n\n" ~ functions(tools) }}{% endif %}<|end|>
{%- for m in messages %}
    {%- if m.role == "assistant" and m.tool is defined %}
        {{- "<|start|>assistant to=functions." ~ m.tool.name ~ "<|channel|>commentary json<|message|>" ~ m.tool.arguments | tojson ~ "<|call|>" }}
    {%- elif m.role == "assistant" %}
        {%- if loop.last %}{{ "<|start|>assistant<|channel|>analysis<|message|>" ~ m.thinking ~ "<|end|>" if m.thinking }}{% endif %}
        {{- "<|start|>assistant<|channel|>final<|message|>" ~ m.content ~ ("<|return|>" if loop.last else "<|end|>") }}
    {%- else %}
        {{- "<|start|>" ~ m.role ~ "<|message|>" ~ m.content ~ "<|end|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != "assistant" %}<|start|>assistant{% endif %}`
	tools := []any{map[string]any{"name": "weather", "description": "Says it.", "parameters": map[string]any{
		"days": map[string]any{"type": []any{"integer", "null"}},
		"town": map[string]any{"type": "string", "required": true},
		"unit": map[string]any{"enum": []any{"C", "F"}},
		"what": map[string]any{"type": "array", "items": map[string]any{"type": "number"}},
	}}}
	checkConversations(t, []conversation{{
		name:     "channels, with functions written by macros that call themselves",
		template: template,
		chats: []chatCase{
			{
				messages: []map[string]any{said("user", "Hello"), said("assistant", "Hi"), said("user", "Bye")},
				text: "<|start|>system<|message|>Reasoning: medium<|end|><|start|>user<|message|>Hello<|end|><|start|>assistant<|channel|>final<|message|>Hi<|end|>" +
					"<|start|>user<|message|>Bye<|end|><|start|>assistant",
			},
			{
				messages: []map[string]any{
					said("user", "Rain?"),
					{"role": "assistant", "tool": map[string]any{"name": "weather", "arguments": map[string]any{"town": "Ulm", "days": 1}}},
					{"role": "assistant", "content": "No.", "thinking": "Dry."},
				},
				more: map[string]any{"tools": tools, "effort": "high"},
				text: "<|start|>system<|message|>Reasoning: high\n\nnamespace functions {\n// Says it.\ntype weather = (\ndays?: integer | null,\ntown: string,\nunit?: \"C\" | \"F\",\nwhat?: number[]\n) => any;\n}<|end|>" +
					"<|start|>user<|message|>Rain?<|end|>" +
					"<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{\"days\": 1, \"town\": \"Ulm\"}<|call|>" +
					"<|start|>assistant<|channel|>analysis<|message|>Dry.<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>",
			},
		},
	}})
}

func TestChatsOfManyParts(t *testing.T) {
	checkConversations(t, []conversation{{
		name: "contents that are texts or lists of parts, of which pictures are counted",
		template: `{% set pictures = namespace(n=0) %}
{% for message in messages %}
{% if loop.first and message.role != 'system' %}
<start>system
You are helpful.<end>
{% endif %}
<start>{{ message.role }}
{% if message.content is string %}
{{ message.content }}<end>
{% else %}
{% for part in message.content %}
{% if part.type == 'image' or 'image' in part %}
{% set pictures.n = pictures.n + 1 %}
{% if number_pictures %}Picture {{ pictures.n }}: {% endif %}<image>
{%- elif 'text' in part %}
{{ part.text }}
{%- endif %}
{% endfor %}
<end>
{% endif %}
{% endfor %}
{% if add_generation_prompt %}<start>assistant
{% endif %}`,
		chats: []chatCase{
			{
				messages: []map[string]any{said("user", "Hello")},
				text:     "<start>system\nYou are helpful.<end>\n<start>user\nHello<end>\n<start>assistant\n",
			},
			{
				messages: []map[string]any{
					said("system", "Look."),
					{"role": "user", "content": []any{map[string]any{"type": "image"}, map[string]any{"type": "text", "text": "What"}, map[string]any{"image": "a.png"}, map[string]any{"other": 1}}},
				},
				more: map[string]any{"number_pictures": true},
				text: "<start>system\nLook.<end>\n<start>user\nPicture 1: <image>WhatPicture 2: <image><end>\n<start>assistant\n",
			},
		},
	}, {
		name: "filters over all messages at once",
		template: `{%- set questions = messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | map('trim') | list -%}
{%- set roles = messages | map(attribute='role') | unique | sort | join('+') -%}
{{ roles }}: {{ questions | length }} question{{ 's' if questions | length != 1 }}
{% filter indent(2, true) %}
{{ questions | join('\n') }}
{% endfilter %}
{% set longest = (messages | sort(attribute='content', reverse=true) | first).content %}
last in order: {{ longest | tojson }}`,
		chats: []chatCase{
			{
				messages: []map[string]any{said("user", " What? "), said("assistant", "Why?"), said("user", "How?\n")},
				text:     "assistant+user: 2 questions\n  What?\n  How?\nlast in order: \"Why?\"",
			},
			{
				messages: []map[string]any{said("user", "What?")},
				text:     "user: 1 question\n  What?\nlast in order: \"What?\"",
			},
		},
	}})
}
