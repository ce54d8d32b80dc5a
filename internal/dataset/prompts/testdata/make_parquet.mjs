// Writes hyparquet.parquet with the npm package hyparquet-writer, another implementation of Parquet.
//     npm install hyparquet-writer && node make_parquet.mjs
import { createRequire } from "node:module";
import path from "node:path";
const from = createRequire(path.join(process.cwd(), "x.js")).resolve("hyparquet-writer");
const { parquetWriteFile } = await import(from);
parquetWriteFile({
  filename: import.meta.dirname + "/hyparquet.parquet",
  columnData: [
    { name: "prompt", data: ["first", "zweite Zeile ü", ""], type: "STRING" },
    { name: "n", data: [1, -2, 3], type: "INT32" },
    { name: "x", data: [1.5, 2.5, -1], type: "DOUBLE" },
  ],
});
