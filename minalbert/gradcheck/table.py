"""The results of gradient checks as a table: one line for each tensor."""


def lines(rows):
    names = max(len(row["case"]) for row in rows)
    tensors = max(len(row["tensor"]) for row in rows)
    yield f"{'case':{names}}  {'tensor':{tensors}}  entries  worst error  at entry      method"
    previous = None
    for row in rows:
        case = "" if row["case"] == previous else row["case"]
        previous = row["case"]
        worst = str(row["worst"])
        verdict = "" if row["passed"] else "   WRONG"
        yield (
            f"{case:{names}}  {row['tensor']:{tensors}}  {row['entries']:7d}  {row['error']:11.1e}  "
            f"{worst:12}  {row['method']}{verdict}"
        )
    worst = max(row["error"] for row in rows)
    yield f"{len(rows)} gradients, {sum(row['entries'] for row in rows)} numbers compared, largest error {worst:.1e}"
