package onnx

import "strings"

// guessFormat says what a file is that is no ONNX model and begins with data, "" if
// it cannot tell. It knows what people end up with instead of a model.
func guessFormat(data []byte) string {
	head := string(data[:min(len(data), 64)])
	switch {
	case head == "":
		return "it is empty"
	case strings.Trim(head, "\x00") == "":
		return "it begins with zero bytes"
	case strings.HasPrefix(head[min(len(head), 4):], "TFL3"):
		return "it is a TensorFlow Lite model"
	case strings.HasPrefix(head[min(len(head), 4):], "ORTM"):
		return "it is a model in ORT format; convert the ONNX file from which it was made"
	}
	text := strings.TrimLeft(head, " \t\r\n\ufeff")
	for _, f := range foreignFormats {
		if strings.HasPrefix(text, f.prefix) {
			return f.what
		}
	}
	return ""
}

var foreignFormats = [...]struct{ prefix, what string }{
	{"version https://git-lfs", "it is a Git LFS pointer; fetch the file itself with git lfs pull"},
	{"<!DOCTYPE html", "it is a web page"},
	{"<!doctype html", "it is a web page"},
	{"<html", "it is a web page"},
	{"<?xml", "it is an XML document, perhaps the error message of a server"},
	{"{", "it is text, perhaps JSON"},
	{"\x1f\x8b", "it is compressed with gzip; unpack it first"},
	{"PK\x03\x04", "it is a ZIP archive; unpack it, or export it if it is a PyTorch model"},
	{"\x89HDF", "it is an HDF5 file, perhaps a Keras model"},
	{"\x80\x02", "it is a Python pickle, perhaps an old PyTorch model"},
	{"GGUF", "it is a GGUF model"},
	{"\x7fELF", "it is a program or library"},
}
