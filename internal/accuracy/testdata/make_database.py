# accuracy.txt of e2e-rag/datasetup_accuracy_eval.py (mlcommons/inference b66003e10e) over made logs. The module retrieve stands for a database with
# so many vectors of 768 numbers; "database" has the bytes "a database\n".
import sys, types, json, os, io, contextlib, hashlib
class Index: d=768; ntotal=60
class Store: index=Index(); index_to_docstore_id={i:i for i in range(60)}
class VectorDB:
    def __init__(self,**k): self._vector_store=Store()
    def from_serialized(self,p): pass
    def lookup(self,q,k): return [q]
m=types.ModuleType("retrieve"); m.VectorDB=VectorDB; sys.modules["retrieve"]=m
import datasetup_accuracy_eval as e
open("database","w").write("a database\n"); md5=hashlib.md5(b"a database\n").hexdigest()
def log(fails,n=200,h=md5):
    return [{"seq_id":i,"qsl_idx":(i*7)%n,"data":(h.encode().hex() if i==n-1 else ("00" if i in fails else "01")),"token_count":1} for i in range(n)]
cases=[]
for name,fails,h,validate,dim,count in [("whole",[],md5,True,768,60),("no validation",[3],md5,False,768,60),("three failed",[1,2,3],md5,True,768,60),("other database",[],"0"*32,True,768,60),
    ("width",[],md5,True,64,60),("empty",[],md5,True,768,0)]:
    Index.d=dim; Index.ntotal=count; Store.index_to_docstore_id={i:i for i in range(count)}
    VectorDB.lookup=lambda self,q,k,c=count: [q][:c]
    os.makedirs("logs",exist_ok=True)
    l=log(fails,h=h); json.dump(l,open("logs/mlperf_log_accuracy.json","w"))
    with contextlib.redirect_stdout(io.StringIO()):
        r=e.evaluate_accuracy("logs","out","database","e5" if validate else None)
    t=open("logs/accuracy.txt").read()
    cases.append({"name":name,"failed":fails,"md5":h,"validate":validate,"width":dim,"vectors":count,"passed":r["passed"],"text":t})
json.dump(cases,open("database.json","w"),indent=1)
