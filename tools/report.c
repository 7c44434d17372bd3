// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "output.h"
#include "report.h"

/**
 * DOC: reports
 *
 * A comparison as one HTML page that needs nothing else: the table of results,
 * and per trace and policy the memory in use by tier over time, how busy each
 * link is, and the kernels that stall most. Data and drawing are in the page.
 */

/* Points of a curve over an iteration, and kernels that are named. */
#define POINTS 400
#define WORST 12

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<title>ugm comparison</title>\n<style>\n"
	"body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right;vertical-align:bottom}td{white-space:nowrap}\n"
	"td:first-child,th:first-child,.name{text-align:left}h2{margin-top:2em}h3{margin:1.4em 0 .3em}\n"
	".row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;flex:1 1 20em;max-width:32em}figcaption{font-size:13px;color:#555}\n"
	"svg{background:#fafafa;border:1px solid #ddd;width:100%;height:auto;box-sizing:border-box}svg text{font:11px system-ui,sans-serif;fill:#444}\n"
	".key span{display:inline-block;margin-right:1em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}\n"
	"</style></head><body>\n<h1>ugm: policies compared</h1>\n<p id=\"machine\"></p>\n"
	"<p>Of ideal: the share of an iteration in which kernels would have run, had nothing had to be moved; stall is the rest.\n"
	"Of bound: the same against a time that no schedule beats. Traffic is in GB of 1e9 bytes at full size, memory in GiB of 2^30.\n"
	"Drive writes a day and lifetime are those of a drive that is written to as in this iteration day and night.</p>\n"
	"<div id=\"out\"></div>\n<script id=\"data\" type=\"application/json\">\n";

static const char page_script[] =
	"\n</script>\n<script>\n"
	"const D=JSON.parse(document.getElementById('data').textContent),C=D.config,out=document.getElementById('out');\n"
	"const E=(t,p,s)=>{const e=document.createElement(t);if(s!==undefined)e.textContent=s;p.append(e);return e};\n"
	"const T=p=>{const d=E('div',p);d.className='wide';return E('table',d)};\n"
	"const STEP=x=>{const p=10**Math.floor(Math.log10(x)),f=x/p;return(f<=1?1:f<=2?2:f<=5?5:10)*p};\n"
	"const G=x=>(x/2**30).toFixed(1),S=x=>(x/1e9).toFixed(6),COL=['#1f77b4','#ff7f0e','#2ca02c','#d62728'];\n"
	"document.getElementById('machine').textContent=`${C.preset}: GPU ${G(C.gpu_mem_bytes)} GiB, host ${G(C.host_mem_bytes)} GiB, GPU link ${C.pcie_bytes_per_s/1e9} GB/s, flash ${C.flash_read_bytes_per_s/1e9} GB/s read, ${C.flash_write_bytes_per_s/1e9} GB/s written, latencies ${C.gpu_latency_ns} and ${C.flash_latency_ns} ns, ${C.fault_ns} ns a fault batch; ${C.preset==='g10-artifact'?'pages of 4 KiB or whole tensors':`blocks of ${C.block_size_bytes/1024} KiB, scale ${C.scale}`}; overlap ${C.overlap}; ${C.noise?`noise ${C.noise} by ${C.noise_per}, seed ${C.seed}${C.replan?', planned again':''}; `:''}wear of ${C.drive}.`;\n"
	"function chart(p,title,ns,series,max,mark){const W=480,H=190,L=44,B=34,A=8,R=14,N='http://www.w3.org/2000/svg';const f=E('figure',p);\n"
	"const s=document.createElementNS(N,'svg');s.setAttribute('viewBox',`0 0 ${W} ${H}`);s.setAttribute('role','img');s.setAttribute('aria-label',title);f.append(s);\n"
	"const add=(t,a,x)=>{const e=document.createElementNS(N,t);for(const k in a)e.setAttribute(k,a[k]);if(x)e.textContent=x;s.append(e)};\n"
	"const X=(i,n)=>L+(W-L-R)*i/(n-1),Y=v=>H-B-(H-B-A)*Math.min(v,max)/max,N2=(v,d)=>+v.toFixed(d);\n"
	"for(let v=0,d=STEP(max/5);v<=max*1.0001;v+=d){add('line',{x1:L,x2:W-R,y1:Y(v),y2:Y(v),stroke:'#e4e4e4'});add('text',{x:L-5,y:Y(v)+4,'text-anchor':'end'},String(N2(v,2)))}\n"
	"for(let v=0,d=STEP(ns/1e9/5);v<=ns/1e9*1.0001;v+=d){const x=L+(W-L-R)*v/(ns/1e9);add('line',{x1:x,x2:x,y1:H-B,y2:H-B+4,stroke:'#888'});add('text',{x:x,y:H-B+15,'text-anchor':'middle'},String(N2(v,4)))}\n"
	"add('text',{x:(L+W-R)/2,y:H-4,'text-anchor':'middle'},'s');\n"
	"if(mark)add('line',{x1:L,x2:W-R,y1:Y(mark),y2:Y(mark),stroke:'#900','stroke-dasharray':'4 3'});\n"
	"series.forEach((d,j)=>add('polyline',{fill:'none',stroke:COL[j],'stroke-width':1.3,points:d[1].map((v,i)=>X(i,d[1].length)+','+Y(v)).join(' ')}));\n"
	"E('figcaption',f,title);const k=E('div',f);k.className='key';series.forEach((d,j)=>{const a=E('span',k);E('i',a).style.background=COL[j];a.append(d[0])})}\n"
	"const names=[...new Set(D.rows.map(r=>r.trace))];\n"
	"for(const n of names){E('h2',out,n);const rows=D.rows.filter(r=>r.trace===n),bound=rows.find(r=>r.policy==='bound'&&!r.error);\n"
	"const K=['flash_to_gpu','gpu_to_flash','host_to_gpu','gpu_to_host','flash_to_host','host_to_flash'].filter((k,i)=>i<4||rows.some(r=>!r.error&&r.traffic_bytes[k]));\n"
	"const t=T(out),h=E('tr',t);for(const c of ['policy','s/iteration','of ideal','of bound','stall s',...K.map(k=>k.replace(/_/g,' ').replace('gpu','GPU')+' GB'),'drive writes/day','lifetime years'])E('th',h,c);\n"
	"for(const r of rows){const tr=E('tr',t);E('td',tr,r.policy);if(r.error){const d=E('td',tr,'cannot run: '+r.error);d.colSpan=K.length+6;d.style.textAlign='left';d.style.whiteSpace='normal';continue}\n"
	"E('td',tr,S(r.iteration_ns));E('td',tr,(100*r.ideal_ns/r.iteration_ns).toFixed(1)+' %');E('td',tr,bound?(100*bound.iteration_ns/r.iteration_ns).toFixed(1)+' %':'');E('td',tr,S(r.iteration_ns-r.ideal_ns));\n"
	"for(const k of K)E('td',tr,(r.traffic_bytes[k]/1e9).toFixed(3));\n"
	"const w=r.flash_wear;E('td',tr,w.drive_writes_per_day.toFixed(2));E('td',tr,w.lifetime_years===null?'':w.lifetime_years.toFixed(2))}\n"
	"for(const r of rows){if(!r.curves)continue;E('h3',out,n+' under '+r.policy);const d=E('div',out);d.className='row';const c=r.curves,g=a=>a.map(x=>x/2**30);\n"
	"const mem=[['GPU',g(c.gpu)],['host',g(c.host)],['flash',g(c.flash)]];chart(d,'GiB in use over the iteration; dashed: GPU capacity',r.iteration_ns,mem,Math.max(1,C.gpu_mem_bytes/2**30,...mem.flatMap(m=>m[1]))*1.05,C.gpu_mem_bytes/2**30);\n"
	"chart(d,'share of each link in use',r.iteration_ns,[['GPU in',c.gpu_in],['GPU out',c.gpu_out],['flash read',c.flash_read],['flash write',c.flash_write]],1);\n"
	"if(r.worst.length){const w=T(out),q=E('tr',w);for(const x of ['kernel','name','stall s','share of all stall'])E('th',q,x);q.children[1].className='name';for(const k of r.worst){const tr=E('tr',w);E('td',tr,k.kernel);E('td',tr,k.name).className='name';E('td',tr,S(k.stall_ns));E('td',tr,(100*k.stall_ns/Math.max(1,r.iteration_ns-r.ideal_ns)).toFixed(1)+' %')}}else E('p',out,'No kernel stalls.')}}\n"
	"</script></body></html>\n";

/**
 * struct curves - an iteration in equal steps of time
 * @used: bytes in use at the end of each, by tier
 * @busy: bytes that each link moved
 */
struct curves {
	u64 used[UGM_NR_TIERS][POINTS];
	double busy[UGM_NR_LINKS][POINTS];
};

/* Spread a transfer evenly over the time it took. */
static void spread(double *busy, const struct ugm_record_move *m, double step)
{
	double from = (double)m->begin_ns / step, to = (double)m->end_ns / step;
	double part;
	int i, last = (int)to < POINTS - 1 ? (int)to : POINTS - 1;

	for (i = (int)from; i <= last; i++) {
		part = to > from ? ((i + 1 < to ? i + 1 : to) -
				    (i > from ? i : from)) / (to - from) : 1;
		busy[i] += (double)m->bytes * part;
	}
}

static void fill(struct curves *c, const struct ugm_record *r, u64 iteration_ns)
{
	double step = (double)iteration_ns / POINTS;
	unsigned int t, i;
	u64 n;
	u32 k = 0;

	for (i = 0; i < POINTS; i++) {
		while (k + 1 < r->nr_launches &&
		       (double)r->launches[k].end_ns < (i + 1) * step)
			k++;
		for (t = 0; t < UGM_NR_TIERS; t++)
			c->used[t][i] = r->launches[k].used_bytes[t];
	}
	for (n = 0; n < r->nr_moves; n++) {
		const struct ugm_record_move *m = &r->moves[n];

		if (m->dst == UGM_TIER_GPU)
			spread(c->busy[UGM_LINK_GPU_IN], m, step);
		if (m->src == UGM_TIER_GPU)
			spread(c->busy[UGM_LINK_GPU_OUT], m, step);
		if (m->src == UGM_TIER_FLASH)
			spread(c->busy[UGM_LINK_FLASH_READ], m, step);
		if (m->dst == UGM_TIER_FLASH)
			spread(c->busy[UGM_LINK_FLASH_WRITE], m, step);
	}
}

static void add_share(struct json_object *list, double share)
{
	struct json_object *v = json_object_new_double(share);

	json_object_set_serializer(v, json_object_double_to_json_string,
				   (void *)"%.4f", NULL);
	json_object_array_add(list, v);
}

static int add_curves(struct json_object *o, const struct report_row *row,
		      const struct ugm_machine *machine)
{
	static const char *const links[UGM_NR_LINKS] = {
		[UGM_LINK_GPU_IN] = "gpu_in",
		[UGM_LINK_GPU_OUT] = "gpu_out",
		[UGM_LINK_FLASH_READ] = "flash_read",
		[UGM_LINK_FLASH_WRITE] = "flash_write",
	};
	struct json_object *all = json_object_new_object(), *list;
	double step = (double)row->result->iteration_ns / POINTS;
	struct curves *c = calloc(1, sizeof(*c));
	unsigned int t, l, i;

	json_object_object_add(o, "curves", all);
	if (!c)
		return -ENOMEM;
	fill(c, row->record, row->result->iteration_ns);
	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		list = json_object_new_array();
		for (i = 0; i < POINTS; i++)
			json_object_array_add(list, json_object_new_uint64(
							    c->used[t][i]));
		json_object_object_add(all, ugm_tier_name((enum ugm_tier)t),
				       list);
	}
	for (l = 0; l < UGM_NR_LINKS; l++) {
		list = json_object_new_array();
		for (i = 0; i < POINTS; i++)
			add_share(list, c->busy[l][i] * 1e9 /
					((double)machine->bandwidth[l] * step));
		json_object_object_add(all, links[l], list);
	}
	free(c);
	return 0;
}

static void add_worst(struct json_object *o, const struct report_row *row)
{
	struct json_object *list = json_object_new_array(), *one;
	u32 worst[WORST], nr = 0, i, k;

	for (k = 0; k < row->record->nr_launches; k++) {
		u64 stall = ugm_record_stall(row->record, k);

		if (!stall || (nr == WORST &&
			       stall <= ugm_record_stall(row->record,
							 worst[nr - 1])))
			continue;
		for (i = nr < WORST ? nr++ : nr - 1;
		     i && ugm_record_stall(row->record, worst[i - 1]) < stall;
		     i--)
			worst[i] = worst[i - 1];
		worst[i] = k;
	}
	for (i = 0; i < nr; i++) {
		one = json_object_new_object();
		json_object_object_add(one, "kernel",
				       json_object_new_uint64(worst[i]));
		json_add_text(one, "name", row->trace->kernels[worst[i]].name);
		json_object_object_add(one, "stall_ns", json_object_new_uint64(
				ugm_record_stall(row->record, worst[i])));
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "worst", list);
}

/* In a script element a closing tag would end it, whatever quotes it. */
static void write_data(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("\\u003c", f);
		else
			fputc(*text, f);
	}
}

/**
 * report_write() - write a comparison as a page
 * @path: file, or "-" for the standard output
 * @config: machine
 * @rows: results
 * @nr: how many
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int report_write(const char *path, const struct ugm_config *config,
		 const struct report_row *rows, unsigned int nr,
		 struct ugm_error *err)
{
	struct json_object *all, *list, *one, *from;
	struct ugm_machine machine;
	struct ugm_output o;
	unsigned int i;
	int ret = 0;

	ugm_config_machine(config, &machine);
	all = ugm_result_json(config, NULL, 0);
	json_object_object_del(all, "results");
	list = json_object_new_array();
	json_object_object_add(all, "rows", list);
	for (i = 0; i < nr && !ret; i++) {
		from = ugm_result_json(config, rows[i].result, 1);
		one = json_object_get(json_object_array_get_idx(
			json_object_object_get(from, "results"), 0));
		json_object_put(from);
		json_object_array_add(list, one);
		if (!rows[i].record->nr_launches || *rows[i].result->error.text)
			continue;
		ret = add_curves(one, &rows[i], &machine);
		add_worst(one, &rows[i]);
	}
	if (ret)
		ugm_fail(err, ret, "%s: no memory", path);
	else
		ret = ugm_output_open(&o, path, err);
	if (!ret) {
		fputs(page_head, o.file);
		write_data(o.file, json_object_to_json_string_ext(all,
					JSON_C_TO_STRING_NOSLASHESCAPE));
		fputs(page_script, o.file);
		ret = ugm_output_commit(&o, err);
	}
	json_object_put(all);
	return ret;
}
