# Made pages through the official functions (mlcommons/inference b66003e10e, e2e-rag: read_docs.HTMLExtractor(text_boundary="word"),
# text_splitter.split_into_fixed_passages(768, 32)) with beautifulsoup4 4.15.0, lxml 6.1.3 (libxml2 2.14.6), Python 3.11; fitz, requests and torch stand empty.
import sys, types, json, random, contextlib, io
for n in ("fitz","torch","requests"): sys.modules[n]=types.ModuleType(n)
with contextlib.redirect_stdout(io.StringIO()):
    import read_docs, text_splitter
ex=read_docs.HTMLExtractor(text_boundary="word")
def passes(h):
    t=ex.extract_text_from_html(h)
    return t, text_splitter.split_into_fixed_passages(t,768,32)
fixed=[
 "", " \n", "plain text, no tags", "<p>One.Two,three;Four:five!six?seven 3.14 a.1</p>",
 "<html><head><title>T</title><style>p{}</style><script>var a='<p>x</p>';</script></head><body><nav>N</nav><header>H</header><p>body &amp; soul &lt;b&gt; &nbsp;x&#160;y &eacute;&#233;&#xe9; &euro;</p><footer>F</footer></body></html>",
 "<div id='mw-content-text'><div class='mw-parser-output'><p>A<sup class='reference'>[1]</sup> B</p><div class='navbox x'>gone</div><table class='infobox'><tr><th>k</th><td>v<br>w</td></tr></table></div><p>outside</p></div><p>far</p>",
 "<div id='mw-content-text'><p>inner</p><div id='toc' class='toc'>toc</div></div>",
 "<main><article>x</article>y</main>", "<article>x<p>y</article>z", "<div class='content big'>c</div><div id='content'>d</div>", "<div id='content'>d</div><p>e",
 "<p>well- known and self-\n  made, co- op- x, a -b, e- -f, naïve- été</p>",
 "<p>\u201cquoted\u201d \u2018x\u2019 ﬁne ½ x² ① Ａ \u200b z\u2028y\u2003w \u00ad soft</p>",
 "<ul><li>one<li>two<li>three</ul><dl><dt>t<dd>d</dl>", "<table><tr><td>1<td>2<tr><td>3</table>", "<p>a<!-- c -->b<![CDATA[x]]>c<?pi?>d</p>",
 "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> text", "<template><p>t</p></template><noscript>no</noscript><textarea> ta </textarea><option>o</option><button>b</button>",
 "<pre>\n line1\r\n  line2\tx</pre>", "<p>one\r\ntwo\rthree</p>", "\ufeff<p>bom</p>",
 "<body><p>x</p><div class='thumbcaption'>cap <span class='metadata'>m</span></div><span class='metadata'>keep</span><div class='hatnote'>h</div><span class='mw-editsection'>[edit]</span></body>",
 "<p>AT&T &copy &unknown; &#0; &#150; &#xD800; 1 < 2 & 3 > 2</p>", "<html><body><p>unclosed <b>bold <a href='x'>link", "<p>"+"word "*400+"</p>", "<p>"+"x"*2000+"</p>", "<p>"+"é"*1500+"</p>",
 "<svg><text>s</text></svg><math><mi>x</mi><annotation>ann</annotation></math>", "<select><option>a<option>b</select>", "<p>e-\u00a0mail 9- 10 _- _</p>",
 "<table><div>foster</div><tr><td>c</td></tr></table>", "<div class='citation'>c</div><cite class='citation book'>d</cite><p class='Reference'>kept?</p>", "<p>a<br/>b<wbr>c<span>d</span>e</p>",
]
rng=random.Random(5)
words=["river","Town","St.","U.S.","born","in","1904","(listen)","naïve","Łódź","–","self-","made","e.g.","A.B","x²","“so”","東京","10,000","km","a:b","well-","known"]
def text(): return " ".join(rng.choice(words) for _ in range(rng.randint(1,12)))
def node(d):
    t=rng.choice(["p","div","span","ul","table","h2","b","sup","style","nav","blockquote","text","text"])
    if d==0 or t=="text": return text()
    if t in ("h2","style"): return "<%s>%s</%s>"%(t,text(),t) # nothing may be nested in them
    cls=rng.choice(["","",""," class='navbox'"," class='reference'"," class='hatnote x'"," class='toc'"," class='metadata'"," class='thumbcaption'"," id='catlinks'"])
    inner="".join(node(d-1) for _ in range(rng.randint(1,4)))
    if t=="ul": inner="".join("<li>%s</li>"%node(d-1) for _ in range(3))
    if t=="table": inner="<tr>"+"".join("<td>%s</td>"%text() for _ in range(3))+"</tr>"
    if t=="p": inner="".join(rng.choice([text()+" ","<b>%s</b>"%text(),"<a href='#'>%s</a>"%text(),"<sup class='reference'>[%d]</sup>"%rng.randint(1,9),"<br>\n"]) for _ in range(4))
    return "<%s%s>%s</%s>"%(t,cls,inner,t)
def page(i):
    body="\n".join(node(3) for _ in range(rng.randint(2,6)))
    return "<!DOCTYPE html>\n<html><head><title>Page %d</title></head><body><h1>Page %d</h1><div id='mw-content-text'><div class='mw-parser-output'>%s</div></div></body></html>"%(i,i,body)
out=[]
for h in fixed+[page(i) for i in range(60)]:
    t,p=passes(h); out.append({"html":h,"text":t,"passages":p})
json.dump(out,open("pages.json","w"),ensure_ascii=False)
print(len(out), sum(len(o["passages"]) for o in out))
