// Package chat writes the messages of a chat as the text that a model was trained on: by the template
// of its tokenizer, as HuggingFace has it (tokenizer_config.json, or chat_template.jinja beside it).
//
//	t, err := chat.Open("llama")   // nil: the folder has no template
//	text, err := t.Render([]map[string]any{{"role": "user", "content": "Who built the castle?"}})
//
// The text has the special tokens that the template writes, so that none are added around it, and it
// ends where the answer begins.
//
// Templates are programs in Jinja, and belong to whoever made the model. They get the messages and the names of
// the special tokens, nothing of this machine: neither files nor the time nor other templates. Counting ends at a
// bound, as does the text.
//
// It leaves out tools, documents, images, and what a template reads the time for.
package chat
